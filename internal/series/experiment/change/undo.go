package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/servers/process"
)

// Read is what the readers have read so far, or what those read that were stopped last.
func (sys *System) Read() binlog.Read {
	if sys.readers == nil {
		return sys.read
	}
	read, _ := sys.readers.read()
	return read
}

// undoTimeout limits the statements or the command that undo one change: long enough
// to drop an index.
const undoTimeout = 10 * time.Minute

// Revert undoes the variant, but for options of the stack, which the next Apply
// replaces and Close reverts. It ignores the end of ctx, which may be why it is called.
func (sys *System) Revert(ctx context.Context) error {
	return sys.undo(ctx, func(s Step) bool { return s.Stack == nil })
}

// Close undoes everything in the journal, and removes it.
func (sys *System) Close(ctx context.Context) error {
	err := sys.undo(ctx, func(Step) bool { return true })
	return errors.Join(err, sys.Journal.Close())
}

// undo undoes the selected steps, the last first. A step that fails stays in the
// journal, and the others are still undone. If the stack was restarted by one of them,
// failed steps are tried again, as the server may have been down.
func (sys *System) undo(ctx context.Context, which func(Step) bool) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if sys.readers != nil {
		read, err := sys.readers.stop()
		errs = append(errs, err)
		sys.read, sys.readers = read, nil
	}
	for tries := 1; ; tries++ {
		failed, restarted, err := sys.undoAll(ctx, which)
		errs = append(errs, err)
		switch {
		case len(failed.steps) == 0:
			return errors.Join(errs...)
		case !restarted || tries == 2:
			return errors.Join(append([]error{failed}, errs...)...)
		}
	}
}

// undoAll tries each of the selected steps once. It returns those that failed, and
// whether the stack was restarted.
func (sys *System) undoAll(ctx context.Context, which func(Step) bool) (failed *UndoError, restarted bool, err error) {
	failed = &UndoError{Journal: sys.Journal.Path}
	for i := len(sys.Journal.Steps) - 1; i >= 0; i-- {
		step := sys.Journal.Steps[i]
		if !which(step) {
			continue
		}
		if err := sys.undoStep(ctx, step); err != nil {
			failed.steps, failed.errs = append(failed.steps, step), append(failed.errs, err)
			continue
		}
		restarted = restarted || step.Stack != nil
		err = errors.Join(err, sys.Journal.Remove(i))
	}
	return failed, restarted, err
}

func (sys *System) undoStep(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, undoTimeout, fmt.Errorf("not finished within %s", undoTimeout))
	defer cancel()
	switch {
	case s.Stack != nil:
		return localstack.Restart(ctx, sys.Dir, s.Stack.Setup, localstack.Parts{Database: s.Stack.Database, Target: true})
	case len(s.Command) > 0:
		return process.Execute(ctx, s.Command)
	}
	return sys.onDatabase(ctx, func(c connection) error {
		var errs []error
		for _, statement := range s.Statements {
			errs = append(errs, c.exec(ctx, statement))
		}
		return cmp.Or(errs...)
	})
}

// UndoError lists changes that could not be undone. They stay in the journal.
type UndoError struct {
	Journal string
	steps   []Step
	errs    []error
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

// Lasting: the error is told even where the command was interrupted.
func (*UndoError) Lasting() bool { return true }

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

// NotRestoredError is the error of an experiment that could not restore the system.
// Err is the main error, as it matters more than why the experiment ended. Its text
// is one line.
type NotRestoredError struct {
	Err   error // what was not restored
	Ended error // why the experiment ended early; nil: it did not
}

func (e *NotRestoredError) Error() string {
	text := oneLine(e.Err)
	if e.Ended != nil {
		text = oneLine(e.Ended) + "; " + text
	}
	return text
}

func (e *NotRestoredError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// IsUndoError reports whether err is or wraps an UndoError.
func IsUndoError(err error) bool {
	var undo *UndoError
	return errors.As(err, &undo)
}

// Reason is the first of the joined errors that is not an UndoError; nil if there is
// none.
func Reason(err error) error {
	if !IsUndoError(err) {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !IsUndoError(e) {
				return e
			}
		}
	}
	return nil
}

// Concerns reports whether a journal is of an experiment on the target; empty: the
// local stack.
func Concerns(j *Journal, target string) bool {
	return strings.TrimRight(j.Target, "/") == strings.TrimRight(target, "/")
}

// Replay undoes the changes of an experiment that was killed. sys is the system of the
// journal; the local stack may be down by now.
func Replay(ctx context.Context, sys *System) error {
	j := sys.Journal
	if len(j.Steps) == 0 {
		return j.Close() // it was killed before it changed anything
	}
	if j.Database != "" && databases.Public(sys.DSN) != j.Database {
		return hint.With(fmt.Errorf("an interrupted experiment has changed %s, but ASSAY_DB is another database", j.Database),
			"set ASSAY_DB to the DSN of "+j.Database+" and run again")
	}
	// First the stack: settings of a server that has ended are lost anyway, and
	// statements need a running one.
	if sys.Dir != "" {
		if err := sys.undo(ctx, func(s Step) bool { return s.Stack != nil }); err != nil {
			return err
		}
		if len(j.Steps) > 0 {
			if _, _, err := localstack.Up(ctx, sys.Dir, localstack.Options{}); err != nil {
				return err
			}
		}
	}
	return sys.Close(ctx)
}
