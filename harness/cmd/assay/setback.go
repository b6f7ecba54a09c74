package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"assay/harness/lab/experiment/change"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
	"assay/harness/run"
)

// setBack takes back what an experiment on the same system elsewhere left that
// was killed. One that is still under way is not disturbed.
func (f *certifyFlags) setBack(c *cobra.Command, g ground) error {
	j, err := journal.Open(stack.DefaultDir)
	if err != nil || j == nil || !change.Concerns(j, f.target) {
		return err
	}
	leave, err := stack.Occupy(stack.DefaultDir)
	if errors.Is(err, stack.ErrOccupied) {
		return &usageError{"an experiment on " + f.target + " is under way: " + j.Experiment, "wait until it has ended"}
	}
	if err != nil {
		return err
	}
	defer leave()
	return f.replay(c.Context(), g, newProgress(c.ErrOrStderr(), "experiment", f.quiet))
}

// replay takes back what the journal holds. The stack's folder is occupied.
func (f *certifyFlags) replay(ctx context.Context, g ground, p *progress) error {
	j, err := journal.Open(stack.DefaultDir)
	if err != nil || j == nil || !change.Concerns(j, f.target) {
		return err
	}
	p.tell(run.Event{Kind: run.Note, Text: "setting back what " + j.Experiment + " changed, which was cut short"})
	w := &change.World{Journal: j, DSN: g.db.dsn, Executable: g.executable, Log: g.log}
	if j.Target == "" {
		w.Dir, w.DSN = stack.DefaultDir, ""
	}
	if err := change.Replay(ctx, w); err != nil {
		return &notSetBack{back: err}
	}
	return nil
}

// changedStill reports whether something that an experiment changed could not be
// set back: an operational error, also after an interrupt.
func changedStill(err error) bool {
	var left *change.Left
	return errors.As(err, &left)
}

// beside is why an experiment ended, without what could not be set back then: it
// was tried once more, and is told once.
func beside(err error) error {
	if !changedStill(err) {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !changedStill(e) {
				return e
			}
		}
	}
	return nil
}

// oneLine is an error that may be several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// both is an error, and another that came on top of it.
func both(first, second error) error {
	if first == nil {
		return second
	}
	return errors.Join(first, second)
}
