package change

import (
	"errors"
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// UndoError lists changes that could not be undone. They stay in the journal.
type UndoError struct {
	Journal string
	steps   []Step
	errs    []error
}

func (e *UndoError) add(s Step, err error) {
	e.steps, e.errs = append(e.steps, s), append(e.errs, err)
}

func (e *UndoError) Error() string {
	var all []string
	for _, err := range e.errs {
		all = append(all, err.Error())
	}
	return "changes of the experiment were not restored: " + strings.Join(all, "; ")
}

// Unwrap returns the reasons.
func (e *UndoError) Unwrap() []error { return e.errs }

// Hint is what to run by hand.
func (e *UndoError) Hint() string {
	var commands []string
	for _, s := range e.steps {
		commands = append(commands, undoCommand(s))
	}
	return fmt.Sprintf("fix the cause and run any assay experiment, certify or search here, which first tries again; or run: %s; then: rm %s",
		strings.Join(commands, "; "), e.Journal)
}

// undoCommand is the shell command, or the SQL statements, to undo a change by hand.
func undoCommand(s Step) string {
	switch {
	case s.Stack != nil:
		return "assay-lab stack down && " + stackUpCommand(s.Stack)
	case len(s.Command) > 0:
		return shellescape.QuoteCommand(s.Command)
	}
	return strings.Join(s.Statements, "; ")
}

// stackUpCommand is the command that starts the stack with its former options.
func stackUpCommand(r *Restart) string {
	p := r.Setup.Ports
	text := fmt.Sprintf("assay-lab stack up --db-port %d --target-port %d", p.Database, p.Target)
	if p.Influx != 0 {
		text += fmt.Sprintf(" --influx-port %d", p.Influx)
	}
	if len(r.Setup.Target) > 0 {
		text += " --target-args " + shellescape.Quote(strings.Join(r.Setup.Target, " "))
	}
	return text
}

// errorOrNil joins e, unless it is empty, and other errors.
func (e *UndoError) errorOrNil(others ...error) error {
	if len(e.steps) == 0 {
		return errors.Join(others...)
	}
	return errors.Join(append([]error{e}, others...)...)
}
