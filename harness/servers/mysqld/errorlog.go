package mysqld

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// echoes are error lines that only say that an earlier error was fatal.
var echoes = []string{
	"Aborting", "Data Dictionary initialization failed", "Failed to initialize DD Storage Engine",
	"DD Storage Engine", "Plugin initialization aborted", "init function returned error",
	"registration as a STORAGE ENGINE failed", "Unknown/unsupported storage engine: InnoDB",
	"The designated data directory", "The newly created data directory",
}

var (
	// errorLine matches the level and, behind it, MySQL's code and subsystem.
	errorLine = regexp.MustCompile(`\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?(.*)`)
	// bootstrapLine is how statements that fail while a folder is made are told.
	bootstrapLine = regexp.MustCompile(`^ERROR: (.*)`)
)

// logTail bounds how much of a log is read for its last error.
const logTail = 256 << 10

// lastError returns what the server last complained about in its log from the
// offset on: the last error that is no echo of one before it, else the last
// line, else "".
func lastError(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		from = max(from, end-logTail)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return ""
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return lastErrorIn(string(b))
}

func lastErrorIn(log string) string {
	var found, echo, line string
	for l := range strings.Lines(log) {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		line = l
		m := errorLine.FindStringSubmatch(l)
		if m == nil {
			m = bootstrapLine.FindStringSubmatch(l)
		}
		switch {
		case m == nil:
		case isEcho(m[1]):
			echo = m[1]
		default:
			found = m[1]
		}
	}
	for _, s := range []string{found, echo, line} {
		if s != "" {
			return shorten(s)
		}
	}
	return ""
}

func isEcho(s string) bool {
	for _, e := range echoes {
		if strings.Contains(s, e) {
			return true
		}
	}
	return false
}

// shorten keeps an error on one line of a terminal.
func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// failure is the error of a server that did not come up: what it said, or how
// it ended, and where to read more. No password of ours may be in it: servers
// quote the statement that they cannot execute.
func failure(what string, l layout, from int64, ended error, password string) error {
	said := lastError(l.log(), from)
	if password != "" {
		said = strings.ReplaceAll(said, password, "***")
	}
	switch {
	case said != "":
		return fmt.Errorf("%s: %s (log: %s)", what, said, l.log())
	case ended != nil:
		return fmt.Errorf("%s: %w (log: %s)", what, ended, l.log())
	}
	return fmt.Errorf("%s: it ended without a word (log: %s)", what, l.log())
}
