package foreign

import (
	"fmt"
	"io"

	"assay/harness/hint"
)

// Expanding limits what a compressed stream expands to: Base bytes plus Ratio times what was
// read of the stream.
type Expanding struct {
	Sent        io.Reader // the stream, which is to be read through Compressed
	From        io.Reader // the reader that decompresses it
	Base, Ratio int64
	Hint        string // how to read it nevertheless; empty: there is no way

	sent, made int64
}

// Compressed is the stream as From is to read it.
func (e *Expanding) Compressed() io.Reader {
	return reader(func(b []byte) (int, error) {
		n, err := e.Sent.Read(b)
		e.sent += int64(n)
		return n, err
	})
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// Read reads what the stream expands to.
func (e *Expanding) Read(b []byte) (int, error) {
	if e.made > e.Base+e.Ratio*e.sent {
		return 0, hint.With(fmt.Errorf("it expands to more than %d times its size", e.Ratio), e.Hint)
	}
	n, err := e.From.Read(b)
	e.made += int64(n)
	return n, err
}
