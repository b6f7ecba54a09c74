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

// appendLog appends a part of a worker's log, unless it was appended before.
func (c *Coordinator) appendLog(number int, offset int64, text []byte) (err error) {
	m := c.members[number]
	m.logging.Lock()
	defer m.logging.Unlock()
	if offset != m.logged {
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
		if log, err := os.ReadFile(path); err == nil {
			e.Error = LastError(log)
		}
	}
}

// head reads the beginning of a log, which in an outage has a line per request; nil if
// it cannot be read.
func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only
	text, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	return text
}
