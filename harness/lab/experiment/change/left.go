package change

import (
	"errors"
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"assay/harness/lab/experiment/journal"
)

// Left is the error of changes that could not be undone. They stay in the journal.
type Left struct {
	Journal string
	steps   []journal.Step
	errs    []error
}

func (l *Left) add(s journal.Step, err error) {
	l.steps, l.errs = append(l.steps, s), append(l.errs, err)
}

func (l *Left) Error() string {
	var all []string
	for _, err := range l.errs {
		all = append(all, err.Error())
	}
	return "what the experiment changed is not set back: " + strings.Join(all, "; ")
}

// Unwrap gives the reasons.
func (l *Left) Unwrap() []error { return l.errs }

// Hint is what to run by hand.
func (l *Left) Hint() string {
	var by []string
	for _, s := range l.steps {
		by = append(by, byHand(s))
	}
	return fmt.Sprintf("mend what is in the way, and start any assay experiment, certify or search here: it tries again first. Or run by hand: %s; and then: rm %s",
		strings.Join(by, "; "), l.Journal)
}

// byHand is what undoes a change, as one would type it.
func byHand(s journal.Step) string {
	switch {
	case s.Stack != nil:
		return "assay stack down && " + up(s.Stack)
	case len(s.Command) > 0:
		return shellescape.QuoteCommand(s.Command)
	}
	return strings.Join(s.Statements, "; ")
}

// up is the command that starts the stack as it was.
func up(r *journal.Restart) string {
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

// orNil is the error of undoing: changes that are left, and other errors.
func (l *Left) orNil(others ...error) error {
	if len(l.steps) == 0 {
		return errors.Join(others...)
	}
	return errors.Join(append([]error{l}, others...)...)
}
