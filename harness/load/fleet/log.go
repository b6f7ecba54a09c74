package fleet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

func (c *Coordinator) logPath(number int) string {
	return filepath.Join(c.logs, fmt.Sprintf("worker-%d.log", number))
}

// gapError is a part of a log that does not follow the part before.
type gapError struct{ error }

// appendLog appends a part of a worker's log, but for what was appended before.
func (c *Coordinator) appendLog(number int, offset int64, text []byte) (err error) {
	m := c.members[number]
	m.logging.Lock()
	defer m.logging.Unlock()
	if offset > m.logged {
		return &gapError{fmt.Errorf("log of worker %d: bytes %d to %d are missing", number, m.logged, offset)}
	}
	text = text[min(m.logged-offset, int64(len(text))):]
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
	path := c.logPath(number)
	e.Logged = FirstProblem(head(path))
	if code, err := strconv.Atoi(e.Status); err == nil && code != 0 && e.Error == "" {
		e.Error = LastError(tail(path))
	}
}

// partSize bounds what is read of a log, bytes: in an outage it has a line per request.
const partSize = 64 << 10

// head reads the beginning of a log; nil if it cannot be read.
func head(path string) []byte { return part(path, func(int64) int64 { return 0 }) }

// tail reads the end of a log; nil if it cannot be read.
func tail(path string) []byte {
	return part(path, func(size int64) int64 { return max(0, size-partSize) })
}

func part(path string, offset func(size int64) int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, offset(info.Size()), partSize))
	return text
}
