// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"io"

	"assay.dev/assay/internal/hint"
)

// Expanding limits what a compressed stream expands to: Base bytes plus Ratio times its size.
type Expanding struct {
	Sent        io.Reader // the stream, which is to be read through Compressed
	From        io.Reader // the reader that decompresses it
	Size        int64     // size of the stream; 0: what was read of it so far
	Base, Ratio int64
	Shrink      int64  // the stream has at most Base bytes plus Shrink times what it expands to; 0: any number
	Hint        string // how to read it nevertheless; empty: there is no way

	sent, made int64
}

// Compressed is the stream as From is to read it.
func (e *Expanding) Compressed() io.Reader {
	return reader(func(b []byte) (int, error) {
		if e.Shrink > 0 && e.sent > e.Base+e.Shrink*e.made {
			return 0, fmt.Errorf("it has more than %d times the bytes of what it holds", e.Shrink)
		}
		n, err := e.Sent.Read(b)
		e.sent += int64(n)
		return n, err
	})
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// Read reads what the stream expands to.
func (e *Expanding) Read(b []byte) (int, error) {
	if e.made > e.Base+e.Ratio*max(e.sent, e.Size) {
		return 0, hint.With(fmt.Errorf("it expands to more than %d times its size", e.Ratio), e.Hint)
	}
	n, err := e.From.Read(b)
	e.made += int64(n)
	return n, err
}
