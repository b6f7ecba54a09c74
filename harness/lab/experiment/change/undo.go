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

// Read is what the readers of the last variant with readers have read.
func (w *World) Read() Read { return w.read }

// revertLimit bounds one statement or command that undoes a change: long enough to
// drop an index.
const revertLimit = 10 * time.Minute

// Revert undoes the variant; options that all variants have to restart for stay until
// Close. It goes on after ctx is done, which may be why it is called.
func (w *World) Revert(ctx context.Context) error {
	return w.undo(ctx, func(s journal.Step) bool { return s.Stack == nil })
}

// Close undoes everything in the journal, and removes it.
func (w *World) Close(ctx context.Context) error {
	err := w.undo(ctx, func(journal.Step) bool { return true })
	return errors.Join(err, w.Journal.End())
}

// undo undoes the steps, the last first. A step that fails stays in the journal, and
// the others are undone all the same; where the stack was restarted in between the
// step is tried again, as the server may have been down.
func (w *World) undo(ctx context.Context, which func(journal.Step) bool) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if w.readers != nil {
		errs = append(errs, w.readers.stop())
		w.read, w.readers = w.readers.done, nil
	}
	left, restarted, err := w.undoAll(ctx, which)
	if restarted && len(left.steps) > 0 {
		errs = append(errs, err)
		left, _, err = w.undoAll(ctx, which)
	}
	return left.orNil(append(errs, err)...)
}

// undoAll undoes the steps once, and returns those that are left, and whether the
// stack was restarted.
func (w *World) undoAll(ctx context.Context, which func(journal.Step) bool) (left *Left, restarted bool, err error) {
	left = &Left{Journal: w.Journal.Path()}
	for i := len(w.Journal.Steps) - 1; i >= 0; i-- {
		step := w.Journal.Steps[i]
		if !which(step) {
			continue
		}
		if failed := w.undoStep(ctx, step); failed != nil {
			left.add(step, failed)
			continue
		}
		restarted = restarted || step.Stack != nil
		err = errors.Join(err, w.Journal.Remove(i))
	}
	return left, restarted, err
}

// undoStep undoes one change.
func (w *World) undoStep(ctx context.Context, s journal.Step) error {
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
