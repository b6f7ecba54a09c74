package fleet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"assay/harness/observe/record"
)

func (c *Coordinator) logPath(number int) string {
	return filepath.Join(c.logs, fmt.Sprintf("worker-%d.log", number))
}

// gapError is a part of a log that does not follow the part before.
type gapError struct{ error }

// appendLog appends a part of a worker's log, but for what was appended before and what the
// record does not take.
func (c *Coordinator) appendLog(number int, offset int64, text []byte) (err error) {
	m := c.members[number]
	m.logging.Lock()
	defer m.logging.Unlock()
	if offset > m.logged {
		return &gapError{fmt.Errorf("log of worker %d: bytes %d to %d are missing", number, m.logged, offset)}
	}
	text = text[min(m.logged-offset, int64(len(text))):]
	text = text[:max(0, min(int64(len(text)), record.MaxLog-m.logged))] // a worker that sends more is none of ours
	if len(text) == 0 {
		return nil
	}
	f, err := os.OpenFile(c.logPath(number), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write log of worker %d: %w", number, err)
	}
	n, err := f.Write(text)
	m.logged += int64(n)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// explain completes a worker's exit from its log. A killed worker did not log why: the
// last error in its log has another cause.
func (c *Coordinator) explain(number int, e *Exit) {
	head, tail := ends(c.logPath(number))
	e.Logged = FirstProblem(head)
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
	defer f.Close() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, nil
	}
	head, _ = io.ReadAll(io.NewSectionReader(f, 0, partSize))
	tail, _ = io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-partSize), partSize))
	return head, tail
}
