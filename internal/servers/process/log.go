package process

import (
	"fmt"
	"io"
	"os"
)

// Log is a file that a child appends to.
type Log struct {
	*os.File
	from int64 // its size when it was opened
}

// OpenLog opens a log for appending; a new one has mode 0600.
func OpenLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &Log{f, info.Size()}, nil
}

// maxWritten bounds the text that Written returns.
const maxWritten = 256 << 10

// Written returns what was appended since OpenLog, at most its last maxWritten bytes;
// "" if it cannot be read.
func (l *Log) Written() string {
	info, err := l.Stat()
	if err != nil {
		return ""
	}
	from := max(l.from, info.Size()-maxWritten)
	text, err := io.ReadAll(io.NewSectionReader(l.File, from, info.Size()-from))
	if err != nil {
		return ""
	}
	return string(text)
}
