package system

import (
	"context"
	"errors"
	"fmt"

	"assay/harness/hint"
	"assay/harness/lab/experiment/change"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
	"assay/harness/trial"
)

// restoreTarget sets back what an experiment on a named target left that was
// killed. One that is still under way is not disturbed.
func (o Options) restoreTarget(ctx context.Context) error {
	j, err := o.journal()
	if err != nil || j == nil {
		return err
	}
	free, err := stack.Occupy(stack.DefaultDir)
	if errors.Is(err, stack.ErrOccupied) {
		return hint.With(fmt.Errorf("an experiment on %s is under way: %s", o.Target, j.Experiment), "wait until it has ended")
	}
	if err != nil {
		return err
	}
	defer free()
	return o.restore(ctx, o.Console.Progress("experiment"))
}

// restore sets back what the journal holds. The stack's folder is occupied.
func (o Options) restore(ctx context.Context, p *trial.Progress) error {
	j, err := o.journal()
	if err != nil || j == nil {
		return err
	}
	p.Note("setting back what " + j.Experiment + " changed, which was cut short")
	w := &change.World{Journal: j, DSN: o.Databases.DSN, Executable: o.Executable, Log: o.Log}
	if j.Target == "" {
		w.Dir, w.DSN = stack.DefaultDir, ""
	}
	if err := change.Replay(ctx, w); err != nil {
		return &change.NotRestoredError{Err: err}
	}
	return nil
}

// journal is what an experiment on this system left; nil: nothing.
func (o Options) journal() (*journal.Journal, error) {
	j, err := journal.Open(stack.DefaultDir)
	if err != nil || j == nil || !change.Concerns(j, o.Target) {
		return nil, err
	}
	return j, nil
}
