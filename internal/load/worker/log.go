package worker

import (
	"bytes"
	"fmt"
	"sync"

	"assay.dev/assay/internal/observe/record"
)

// Parts of k6's log that are kept, in bytes; a script may log without end, and in an outage
// k6 logs a line per request. Together they are less than the record takes.
const (
	maxHead = record.MaxLog / 2
	maxTail = record.MaxLog / 16
)

// logBuffer holds the part of k6's log that was not delivered yet, and the end of a long one.
type logBuffer struct {
	mu      sync.Mutex
	text    []byte
	offset  int64 // offset of text in the log
	written int64 // length of the head
	tail    []byte
	dropped int64 // bytes between them
}

// Write never fails: a log that cannot be kept is no reason to end the load.
func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(text)
	head := min(int64(n), maxHead-l.written)
	l.text, l.written, text = append(l.text, text[:head]...), l.written+head, text[head:]
	l.cut(&text, maxTail)
	l.tail = append(l.tail, text...)
	if len(l.tail) > 2*maxTail { // seldom, as it is moved
		l.cut(&l.tail, maxTail)
		l.tail = bytes.Clone(l.tail)
	}
	return n, nil
}

// cut leaves the last bytes of a text, and counts the others.
func (l *logBuffer) cut(text *[]byte, size int) {
	if more := len(*text) - size; more > 0 {
		l.dropped += int64(more)
		*text = (*text)[more:]
	}
}

// end adds the end of the log, once, when nothing is written any more.
func (l *logBuffer) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut(&l.tail, maxTail)
	if l.dropped > 0 {
		l.text = fmt.Appendf(l.text, "\n%d bytes of the log are left out here\n", l.dropped)
	}
	l.text, l.tail, l.dropped = append(l.text, l.tail...), nil, 0
}

// maxPart is the largest part of the log in one message, bytes.
const maxPart = 1 << 20

// next is the next part to deliver.
func (l *logBuffer) next() (offset int64, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offset, bytes.Clone(l.text[:min(len(l.text), maxPart)])
}

// delivered removes a part that was delivered.
func (l *logBuffer) delivered(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.offset = append([]byte(nil), l.text[size:]...), l.offset+int64(size)
}
