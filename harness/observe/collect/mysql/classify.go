package mysql

import (
	"strings"

	"assay/harness/observe/wait"
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

// classify returns what a session is doing or waiting for (WAITS sections 2 and 4): a
// row lock; else the wait in progress; else a class inferred from the session's state;
// else CPU, also inferred. event is the wait's name without the prefix wait/, or the
// state, or cpu.
func classify(s session) (event, class string, inferred bool) {
	event = strings.TrimPrefix(s.Event, "wait/")
	server := s.flavour.name
	switch {
	case s.RowLock:
		// Locks and waits are not read atomically: the session may be in another wait
		// by now.
		if event != handlerEvent && wait.ClassOf(server, event) != wait.RowLock {
			event = rowLockEvent
		}
		return event, wait.RowLock, false
	case event != "":
		return event, wait.ClassOf(server, event), false
	}
	if class, ok := wait.ClassOfState(server, s.State); ok {
		return s.State, class, true
	}
	switch {
	case s.flavour.commitHasGaps && s.State == "" && isDML(s.Statement):
		return commitEvent, wait.Commit, true
	case s.Command == "Connect":
		return connectEvent, wait.Storm, true
	}
	return cpuEvent, wait.CPU, true
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
