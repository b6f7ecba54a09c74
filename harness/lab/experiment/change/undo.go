package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
)

// Read is what the readers of the last variant that had any have read.
func (w *World) Read() Read { return w.read }

// revertLimit bounds one statement or command that undoes something: long enough
// for an index to be dropped, and no hang.
const revertLimit = 10 * time.Minute

// Revert takes the variant back; what is set up for all variants alike stays
// until Close. It does not end with the context of Apply, whose end may be the
// reason for it.
func (w *World) Revert(ctx context.Context) error {
	return w.undo(ctx, func(s journal.Step) bool { return s.Stack == nil })
}

// Close takes back all that the journal holds, and ends it.
func (w *World) Close(ctx context.Context) error {
	err := w.undo(ctx, func(journal.Step) bool { return true })
	return errors.Join(err, w.Journal.End())
}

// undo takes the steps back, the last first. One that fails stays in the
// journal and keeps none of the others from being taken; where the stack was
// started anew meanwhile it is tried again, for the server may have been down.
func (w *World) undo(ctx context.Context, which func(journal.Step) bool) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if w.readers != nil {
		errs = append(errs, w.readers.stop())
		w.read, w.readers = w.readers.done, nil
	}
	left, restarted, err := w.takeAll(ctx, which)
	if restarted && len(left.steps) > 0 {
		errs = append(errs, err)
		left, _, err = w.takeAll(ctx, which)
	}
	return left.orNil(append(errs, err)...)
}

// takeAll takes the steps once, and tells which are left, and whether the stack
// was started anew.
func (w *World) takeAll(ctx context.Context, which func(journal.Step) bool) (left *Left, restarted bool, err error) {
	left = &Left{Journal: w.Journal.Path()}
	for i := len(w.Journal.Steps) - 1; i >= 0; i-- {
		step := w.Journal.Steps[i]
		if !which(step) {
			continue
		}
		if failed := w.take(ctx, step); failed != nil {
			left.add(step, failed)
			continue
		}
		restarted = restarted || step.Stack != nil
		err = errors.Join(err, w.Journal.Remove(i))
	}
	return left, restarted, err
}

// take undoes one change.
func (w *World) take(ctx context.Context, s journal.Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, revertLimit, fmt.Errorf("no end within %s", revertLimit))
	defer cancel()
	switch {
	case s.Stack != nil:
		_, err := stack.Restart(ctx, w.options(), s.Stack.Setup, s.Stack.Database, w.Log)
		return err
	case len(s.Command) > 0:
		return execute(ctx, s.Command)
	}
	return w.onDatabase(ctx, func(c connection) error {
		var errs []error
		for _, statement := range s.Statements {
			errs = append(errs, c.exec(ctx, statement))
		}
		return cmp.Or(errs...)
	})
}
