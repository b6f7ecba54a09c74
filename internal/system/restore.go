package system

import (
	"context"
	"errors"
	"fmt"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/trial"
)

// restoreTarget undoes the changes of a killed experiment on the target. It refuses if
// the experiment is still running.
func (o Options) restoreTarget(ctx context.Context) error {
	j, err := o.journal()
	if err != nil || j == nil {
		return err
	}
	free, err := localstack.Reserve(localstack.DefaultDir)
	if errors.Is(err, localstack.ErrInUse) {
		return hint.With(fmt.Errorf("an experiment on %s is running: %s", o.Target, j.Experiment), "wait until it has ended")
	}
	if err != nil {
		return err
	}
	defer free()
	return o.restore(ctx, o.Console.Progress("experiment"))
}

// restore undoes the changes in the journal. The caller has locked the stack's folder.
func (o Options) restore(ctx context.Context, p *trial.Progress) error {
	j, err := o.journal()
	if err != nil || j == nil {
		return err
	}
	p.Note("restoring what the interrupted " + j.Experiment + " changed")
	w := &change.System{Journal: j, DSN: o.Databases.DSN, Executable: o.Executable, Log: o.Log}
	if j.Target == "" {
		w.Dir, w.DSN = localstack.DefaultDir, ""
	}
	if err := change.Replay(ctx, w); err != nil {
		return &change.NotRestoredError{Err: err}
	}
	return nil
}

// journal is the journal of an experiment on this system; nil: none.
func (o Options) journal() (*change.Journal, error) {
	j, err := change.OpenJournal(localstack.DefaultDir)
	if err != nil || j == nil || !change.Concerns(j, o.Target) {
		return nil, err
	}
	return j, nil
}
