package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay.dev/assay/internal/localstack"
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
	failed, restarted, err := sys.undoAll(ctx, which)
	if restarted && len(failed.steps) > 0 {
		errs = append(errs, err)
		failed, _, err = sys.undoAll(ctx, which)
	}
	return failed.errorOrNil(append(errs, err)...)
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
			failed.add(step, err)
			continue
		}
		restarted = restarted || step.Stack != nil
		err = errors.Join(err, sys.Journal.Remove(i))
	}
	return failed, restarted, err
}

// undoStep undoes one change.
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
