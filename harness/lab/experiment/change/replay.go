package change

import (
	"context"
	"fmt"
	"strings"

	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
	"assay/harness/observe/collect/databases"
)

// Concerns reports whether a journal that was left is about the system that a
// run goes to: the local stack where target is empty.
func Concerns(j *journal.Journal, target string) bool {
	return strings.TrimRight(j.Target, "/") == strings.TrimRight(target, "/")
}

// OtherDatabaseError is a journal of another database than the one that ASSAY_DB
// names.
type OtherDatabaseError struct{ Database string }

func (e *OtherDatabaseError) Error() string {
	return fmt.Sprintf("an interrupted experiment has changed %s, and ASSAY_DB names another database", e.Database)
}

// Hint is the next step.
func (e *OtherDatabaseError) Hint() string {
	return "set ASSAY_DB to the DSN of " + e.Database + ", and start again"
}

// Replay undoes what an experiment has left that was killed. The world is that of
// the journal; the local stack may be down by now.
func Replay(ctx context.Context, w *World) error {
	j := w.Journal
	if len(j.Steps) == 0 {
		return j.End() // it was killed before it changed anything
	}
	if j.Database != "" && databases.Public(w.DSN) != j.Database {
		return &OtherDatabaseError{j.Database}
	}
	// The stack comes first here: what was set in a server that has ended is lost
	// with it, and statements need one that runs.
	if w.Dir != "" {
		if err := w.undo(ctx, func(s journal.Step) bool { return s.Stack != nil }); err != nil {
			return err
		}
		if len(j.Steps) > 0 {
			if _, _, err := stack.Up(ctx, w.options(), w.Log); err != nil {
				return err
			}
		}
	}
	return w.Close(ctx)
}
