package change

import (
	"context"
	"fmt"
	"strings"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/collect/databases"
)

// Concerns reports whether a journal is of an experiment on the target; empty: the
// local stack.
func Concerns(j *Journal, target string) bool {
	return strings.TrimRight(j.Target, "/") == strings.TrimRight(target, "/")
}

// OtherDatabaseError is returned if the journal is of another database than that of
// ASSAY_DB.
type OtherDatabaseError struct{ Database string }

func (e *OtherDatabaseError) Error() string {
	return fmt.Sprintf("an interrupted experiment has changed %s, but ASSAY_DB is another database", e.Database)
}

// Hint is the next step.
func (e *OtherDatabaseError) Hint() string {
	return "set ASSAY_DB to the DSN of " + e.Database + " and run again"
}

// Replay undoes the changes of an experiment that was killed. sys is the system of the
// journal; the local stack may be down by now.
func Replay(ctx context.Context, sys *System) error {
	j := sys.Journal
	if len(j.Steps) == 0 {
		return j.Close() // it was killed before it changed anything
	}
	if j.Database != "" && databases.Public(sys.DSN) != j.Database {
		return &OtherDatabaseError{j.Database}
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
