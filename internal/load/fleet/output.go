package fleet

import "assay.dev/assay/internal/wire"

// head keeps the first bytes that are written to it, one more than MaxArchive: a script that
// writes without end must not take this process's memory.
type head struct{ kept []byte }

func (h *head) Write(b []byte) (int, error) {
	h.kept = append(h.kept, b[:min(len(b), wire.MaxArchive+1-len(h.kept))]...)
	return len(b), nil
}

// tail keeps the last partSize bytes, or a little more.
type tail struct{ kept []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - partSize; extra > partSize {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}
