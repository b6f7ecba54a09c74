package run

import (
	"context"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// checkInvariants checks the profile's invariants in the database; db is nil if it is not
// open yet. The last transactions may still be under way: an invariant that does not hold is
// checked again until it does, or for as long as the ledger waits.
func (l *reconciler) checkInvariants(ctx context.Context, db *database.DB) {
	if len(l.invariants) == 0 {
		return
	}
	if db == nil {
		if l.dsn == "" {
			l.failInvariants("the run has no database in which to check it")
			return
		}
		var err error
		if db, err = databases.Open(l.dsn); err == nil {
			defer db.Close() // nothing is written
			err = l.reach(ctx, db)
		}
		if err != nil {
			l.failInvariants("the database cannot be reached: " + databases.Reason(err))
			return
		}
	}
	l.violated = nil
	deadline := time.Now().Add(l.wait)
	for _, i := range l.invariants {
		l.violated = append(l.violated, l.check(ctx, db, i, deadline))
	}
}

// failInvariants says why none of the invariants could be checked.
func (l *reconciler) failInvariants(why string) {
	l.violated = nil
	for range l.invariants {
		l.violated = append(l.violated, record.Invariant{Error: why})
	}
}

// check checks one invariant until it holds or the deadline has passed.
func (l *reconciler) check(ctx context.Context, db *database.DB, i spec.Invariant, deadline time.Time) record.Invariant {
	for {
		rows, err := violations(ctx, db, i.SQL, l.run)
		switch {
		case ctx.Err() != nil:
			return record.Invariant{Error: "the run was interrupted"}
		case err != nil:
			return record.Invariant{Error: databases.Reason(err)}
		case rows == 0 || time.Now().After(deadline):
			return record.Invariant{Rows: rows}
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// violations counts the rows that violate an invariant, at most record.MaxInvariantRows.
func violations(ctx context.Context, db *database.DB, query, run string) (n int64, err error) {
	defer foreign.Guard(&err)
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := db.QueryContext(ctx, db.Dialect.Bind(query), spec.Arguments(query, run)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for n < record.MaxInvariantRows && rows.Next() {
		n++
	}
	return n, rows.Err()
}
