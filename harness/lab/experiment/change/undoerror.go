package change

import (
	"errors"
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"assay/harness/lab/experiment/journal"
)

// UndoError lists changes that could not be undone. They stay in the journal.
type UndoError struct {
	Journal string
	steps   []journal.Step
	errs    []error
}

func (l *UndoError) add(s journal.Step, err error) {
	l.steps, l.errs = append(l.steps, s), append(l.errs, err)
}

func (l *UndoError) Error() string {
	var all []string
	for _, err := range l.errs {
		all = append(all, err.Error())
	}
	return "changes of the experiment were not restored: " + strings.Join(all, "; ")
}

// Unwrap returns the reasons.
func (l *UndoError) Unwrap() []error { return l.errs }

// Hint is what to run by hand.
func (l *UndoError) Hint() string {
	var commands []string
	for _, s := range l.steps {
		commands = append(commands, undoCommand(s))
	}
	return fmt.Sprintf("fix the cause and run any assay experiment, certify or search here, which first tries again; or run: %s; then: rm %s",
		strings.Join(commands, "; "), l.Journal)
}

// undoCommand is the shell command, or the SQL statements, to undo a change by hand.
func undoCommand(s journal.Step) string {
	switch {
	case s.Stack != nil:
		return "assay stack down && " + stackUpCommand(s.Stack)
	case len(s.Command) > 0:
		return shellescape.QuoteCommand(s.Command)
	}
	return strings.Join(s.Statements, "; ")
}

// stackUpCommand is the command that starts the stack with its former options.
func stackUpCommand(r *journal.Restart) string {
	p := r.Setup.Ports
	text := fmt.Sprintf("assay stack up --db-port %d --target-port %d", p.Database, p.Target)
	if p.Influx != 0 {
		text += fmt.Sprintf(" --influx-port %d", p.Influx)
	}
	if len(r.Setup.Target) > 0 {
		text += " --target-args " + shellescape.Quote(strings.Join(r.Setup.Target, " "))
	}
	return text
}

// errorOrNil joins l, unless it is empty, and other errors.
func (l *UndoError) errorOrNil(others ...error) error {
	if len(l.steps) == 0 {
		return errors.Join(others...)
	}
	return errors.Join(append([]error{l}, others...)...)
}
