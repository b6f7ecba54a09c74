package worker

import (
	"bytes"
	"fmt"
	"sync"
)

// maxLog bounds the part of k6's log that waits for delivery, bytes. In an outage k6
// logs a line per request.
const maxLog = 16 << 20

// logBuffer holds the part of k6's log that was not delivered yet.
type logBuffer struct {
	mu      sync.Mutex
	text    []byte
	offset  int64 // of text in the log
	dropped int   // bytes that it had no room for
}

// Write never fails: a log that cannot be kept is no reason to end the load.
func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text)+len(text) > maxLog {
		l.dropped += len(text)
		return len(text), nil
	}
	if l.dropped > 0 {
		l.text = fmt.Appendf(l.text, "%d bytes of the log are missing: the coordinator did not answer\n", l.dropped)
		l.dropped = 0
	}
	l.text = append(l.text, text...)
	return len(text), nil
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
