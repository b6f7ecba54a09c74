package mysqld

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
)

// consequences are error lines that only follow from an earlier error.
var consequences = []string{
	"Aborting", "Data Dictionary initialization failed", "Failed to initialize DD Storage Engine",
	"DD Storage Engine", "Plugin initialization aborted", "init function returned error",
	"registration as a STORAGE ENGINE failed", "Unknown/unsupported storage engine: InnoDB",
	"The designated data directory", "The newly created data directory",
	"WSREP: wsrep::connect(",
}

var (
	// errorLine matches the level, then MySQL's code and subsystem.
	errorLine = regexp.MustCompile(`\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?(.*)`)
	// bootstrapLine is a statement that failed while a data folder was initialised.
	bootstrapLine = regexp.MustCompile(`^ERROR: (.*)`)
)

// lastError returns the last error in a server's log that does not only repeat an
// earlier one, else the last line, else "".
func lastError(log string) string {
	var found, consequence, line string
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
		case isConsequence(m[1]):
			consequence = m[1]
		default:
			found = m[1]
		}
	}
	for _, s := range []string{found, consequence, line} {
		if s != "" {
			return shorten(s)
		}
	}
	return ""
}

func isConsequence(s string) bool {
	return slices.ContainsFunc(consequences, func(c string) bool { return strings.Contains(s, c) })
}

// shorten keeps an error on one line of a terminal.
func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// failure is the error of a server that has ended: its last logged error, or its exit
// status, and the path of the log. Passwords are masked, as servers quote statements that
// they cannot execute.
func failure(what string, log *process.Log, ended error) error {
	// Before the line is shortened, which could leave a part of a password.
	logged := lastError(mask.Text(log.Written()))
	switch {
	case logged != "":
		return fmt.Errorf("%s: %s (log: %s)", what, logged, log.Name())
	case ended != nil:
		return fmt.Errorf("%s: %w (log: %s)", what, ended, log.Name())
	}
	return fmt.Errorf("%s: it ended without a message (log: %s)", what, log.Name())
}
