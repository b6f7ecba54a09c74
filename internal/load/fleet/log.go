package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
)

func (c *Coordinator) logPath(number int) string {
	return filepath.Join(c.logs, fmt.Sprintf("worker-%d.log", number))
}

// gapError is a part of a log that does not follow the part before.
type gapError struct{ error }

// workerLog is what is known of a worker's log. The worker has masked the secrets that it knows;
// this process may know more, and the target may have told them to the script.
type workerLog struct {
	mu       sync.Mutex
	received int64 // bytes; negative: a former coordinator has received some
	lines    *mask.Lines
	masked   bytes.Buffer // not written yet
}

// write appends what is masked to a file.
func (l *workerLog) write(path string) (err error) {
	if l.masked.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = l.masked.WriteTo(f)
	return cmp.Or(err, f.Close())
}

// appendLog appends a part of a worker's log, but for what was appended before and what the
// record does not take.
func (c *Coordinator) appendLog(number int, offset int64, text []byte) (err error) {
	l := &c.members[number].log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.received < 0 {
		l.received = offset
	}
	if l.lines == nil {
		l.lines = mask.NewLines(&l.masked)
	}
	if offset > l.received {
		return &gapError{fmt.Errorf("log of worker %d: bytes %d to %d are missing", number, l.received, offset)}
	}
	text = text[min(l.received-offset, int64(len(text))):]
	text = text[:max(0, min(int64(len(text)), record.MaxLog-l.received))] // a worker that sends more is none of ours
	_, _ = l.lines.Write(text)                                            // to memory
	l.received += int64(len(text))
	if err := l.write(c.logPath(number)); err != nil {
		return fmt.Errorf("write log of worker %d: %w", number, err)
	}
	return nil
}

// endLog writes the last line of a worker's log, which may have no end.
func (c *Coordinator) endLog(number int) {
	l := &c.members[number].log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines != nil {
		_ = l.lines.Flush() // to memory
		_ = l.write(c.logPath(number))
	}
}

// explain completes a worker's exit from its log. A killed worker did not log why: the
// last error in its log has another cause.
func (c *Coordinator) explain(number int, e *Exit) {
	c.endLog(number)
	head, tail := ends(c.logPath(number))
	e.Logged, e.Thrown = FirstProblem(head), FirstException(head)
	if code, err := strconv.Atoi(e.Status); err == nil && code != 0 && e.Error == "" {
		e.Error = LastError(tail)
	}
}

// partSize bounds what is read of a log, bytes: in an outage it has a line per request.
const partSize = 64 << 10

// ends reads the beginning and the end of a log; nil if it cannot be read.
func ends(path string) (head, tail []byte) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil
	}
	head, _ = io.ReadAll(io.NewSectionReader(f, 0, partSize))
	tail, _ = io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-partSize), partSize))
	return head, tail
}
