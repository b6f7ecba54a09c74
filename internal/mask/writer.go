// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"io"
)

// Writer masks what is written through it. Each call of Write must have a whole text, because
// nothing is held back.
type Writer struct{ To io.Writer }

// Write masks and writes a text.
func (w Writer) Write(text []byte) (int, error) {
	if _, err := w.To.Write(Bytes(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Fd is the descriptor of the file behind the writer, for callers that ask whether it is a
// terminal. If To is no file, no such descriptor exists.
func (w Writer) Fd() uintptr {
	if f, ok := w.To.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// maxLine is how long a line may be before a part of it is written, bytes: more, if a secret
// can take up half of it.
const maxLine = 64 << 10

// Lines masks a stream, whose parts may begin and end anywhere: it writes whole lines. It
// is not safe for concurrent use.
type Lines struct {
	to      io.Writer
	pending []byte
	skip    bool // the rest of this line: all of it so far is secret
}

// NewLines makes a writer of lines.
func NewLines(to io.Writer) *Lines { return &Lines{to: to} }

// Write writes the lines that are complete.
func (l *Lines) Write(text []byte) (int, error) {
	n := len(text)
	if l.skip {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return n, nil
		}
		text, l.skip = text[end:], false
	}
	l.pending = append(l.pending, text...)
	err := l.write(bytes.LastIndexByte(l.pending, '\n') + 1)
	m := known.Load()
	if err != nil || len(l.pending) <= maxLine || m != nil && len(l.pending) <= 2*m.longest {
		return n, err
	}
	whole := len(l.pending)
	if m != nil {
		whole = m.whole(string(l.pending))
	}
	if whole > 0 {
		return n, l.write(whole)
	}
	l.pending, l.skip = l.pending[:0], true
	_, err = io.WriteString(l.to, replacement)
	return n, err
}

// Flush writes the last line, even if its end is missing.
func (l *Lines) Flush() error { return l.write(len(l.pending)) }

func (l *Lines) write(size int) error {
	if size == 0 {
		return nil
	}
	_, err := l.to.Write(Bytes(l.pending[:size]))
	l.pending = append(l.pending[:0], l.pending[size:]...)
	return err
}
