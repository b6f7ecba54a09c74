package mysql

import (
	"strings"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/wait"
)

// session is what one sample saw of one active session.
type session struct {
	flavour   *flavour
	Command   string // PROCESSLIST_COMMAND
	State     string // PROCESSLIST_STATE; empty: none
	Statement string // instrument of the statement, such as statement/sql/update; empty: none
	Event     string // instrument of the innermost wait in progress, such as wait/io/file/sql/binlog; empty: none
	RowLock   bool   // waits for a row lock
}

// Events that are not names of wait instruments.
const (
	handlerEvent = "io/table/sql/handler"
	rowLockEvent = "row_lock_wait" // a row lock without a wait event
	connectEvent = "connect"       // the session is being opened
	cpuEvent     = "cpu"
	commitEvent  = "Commit" // a commit without wait event and state
)

// activity returns what the session is doing or waiting for (docs/waits.md, Classify and Events), without
// its digest: a row lock; else the wait in progress; else a class inferred from the session's
// state; else CPU, also inferred. The event is the wait's name without the prefix wait/, or
// the state, or cpu.
func (s session) activity() sampling.Session {
	event := strings.TrimPrefix(s.Event, "wait/")
	server := s.flavour.name
	switch {
	case s.RowLock:
		// Locks and waits are not read atomically: the session may be in another wait
		// by now.
		if event != handlerEvent && wait.ClassOf(server, event) != wait.RowLock {
			event = rowLockEvent
		}
		return sampling.Session{Event: event, Class: wait.RowLock}
	case event != "":
		return sampling.Session{Event: event, Class: wait.ClassOf(server, event)}
	}
	if class, ok := wait.ClassOfState(server, s.State); ok {
		return sampling.Session{Event: s.State, Class: class, Inferred: true}
	}
	switch {
	case s.flavour.commitHasGaps && s.State == "" && isDML(s.Statement):
		return sampling.Session{Event: commitEvent, Class: wait.Commit, Inferred: true}
	case s.Command == "Connect":
		return sampling.Session{Event: connectEvent, Class: wait.Storm, Inferred: true}
	}
	return sampling.Session{Event: cpuEvent, Class: wait.CPU, Inferred: true}
}

// isDML reports whether a statement changes rows. It is false for MariaDB's prepared
// statements (statement/com/Execute), whose kind is unknown.
func isDML(statement string) bool {
	switch kind, _ := strings.CutPrefix(statement, "statement/sql/"); kind {
	case "insert", "insert_select", "update", "update_multi", "delete", "delete_multi", "replace", "replace_select", "load", "commit", "xa_commit", "xa_prepare":
		return true
	}
	return false
}
