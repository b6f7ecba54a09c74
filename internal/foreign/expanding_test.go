package foreign

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
)

// What expands within the limits is read whole; what does not is cut off soon after them.
func TestExpanding(t *testing.T) {
	t.Parallel()
	const base, ratio = 1 << 20, 10
	for name, c := range map[string]struct {
		size int
		ok   bool
	}{"within": {base, true}, "far beyond": {64 << 20, false}} {
		var sent bytes.Buffer
		z := gzip.NewWriter(&sent)
		if _, err := z.Write(make([]byte, c.size)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		most := base + ratio*int64(sent.Len()) + 64<<10 // 64 KiB: the last read
		e := &Expanding{Sent: &sent, Base: base, Ratio: ratio, Hint: "expand it first"}
		var err error
		if e.From, err = gzip.NewReader(e.Compressed()); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, e)
		if c.ok && (err != nil || n != int64(c.size)) || !c.ok && (err == nil || n > most || !strings.Contains(err.Error(), "more than 10 times") || hint.Of(err) == "") {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}
