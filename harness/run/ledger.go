package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

const (
	// persistTimeout is how long rows may take to appear before they count as missing,
	// in addition to the profile's limit on persist lag.
	persistTimeout = 5 * time.Second
	queryTimeout   = 60 * time.Second
	// cleanupGrace is how long the removal of the run's rows may take after the run was
	// interrupted.
	cleanupGrace = 8 * time.Second
	cleanupTries = 5
)

// reconciler reads persisted identities from the database after the load, and compares
// them with those that the record holds as acknowledged.
type reconciler struct {
	run        string
	spec       *spec.Ledger
	invariants []spec.Invariant
	dsn        string
	wait       time.Duration
	// compared: a coordinator that was killed has read the persisted side, and may have
	// removed the run's rows: reading them again could find none.
	compared bool

	violated []record.Invariant // what came of the invariants; set by reconcile
}

func newReconciler(o Options) *reconciler {
	l := &reconciler{run: o.ID, spec: o.Profile.Ledger, invariants: o.Profile.Invariants, dsn: o.DSN, wait: persistTimeout}
	for _, s := range o.Profile.SLOs {
		if s.Metric == metric.PersistLag {
			l.wait = max(l.wait, persistTimeout+time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return l
}

// reconcile reads the persisted transactions until no acknowledged one is missing or
// the wait ends, records them, and removes the run's rows. Once ctx is done it
// compares nothing, since rows may still be on their way; once force is done it
// removes the rows only if that takes a moment. Invariants are checked before the rows are
// removed.
func (l *reconciler) reconcile(ctx, force context.Context, w *record.Writer) (record.LedgerFact, error) {
	if l.spec == nil {
		l.checkInvariants(ctx, nil)
		return record.LedgerFact{State: record.StateAbsent, Reason: "the profile has no ledger"}, nil
	}
	if l.dsn == "" {
		l.checkInvariants(ctx, nil)
		return record.LedgerFact{State: record.StateAbsent, Reason: "the run has no database to read persisted transactions from"}, nil
	}
	db, err := databases.Open(l.dsn)
	if err == nil {
		defer db.Close() // read-only but for the cleanup, which reports its own errors
		err = l.reach(ctx, db)
	}
	if err != nil {
		why := "the database cannot be reached: " + databases.Reason(err)
		if len(l.spec.Cleanup) > 0 {
			why += "; the run's rows were not removed"
		}
		l.failInvariants(why)
		return record.LedgerFact{State: record.StateFailed, Reason: why}, nil
	}
	var writeError error
	fact := record.LedgerFact{State: record.StateOK}
	if l.compared {
		err = ctx.Err()
	} else {
		err = l.read(ctx, db, w)
	}
	var unread *ledger.ReadError
	switch {
	case ctx.Err() != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}
	case errors.As(err, &unread):
		fact = record.LedgerFact{State: record.StateFailed, Reason: databases.Reason(err)}
	default:
		writeError = err
	}
	if fact.State == record.StateFailed {
		writeError = w.RemovePersisted()
	}
	l.checkInvariants(ctx, db)
	if err := l.clean(ctx, force, db); err != nil {
		if fact.Reason != "" {
			fact.Reason += "; "
		}
		fact.Reason += "the run's rows could not be removed: " + databases.Reason(err)
	}
	return fact, writeError
}

// reach connects first, so that an unreachable database delays the end once rather
// than once per statement. A server at its connection limit is retried: the load's
// connections are being closed.
func (l *reconciler) reach(ctx context.Context, db *database.DB) error {
	deadline := time.Now().Add(l.wait)
	for {
		err := database.Ping(context.WithoutCancel(ctx), db)
		if !db.Dialect.Is(err, database.TooManyConnections) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// clean removes the run's rows until none is left, since an aborted request may
// still be writing. It also does so after ctx is done.
func (l *reconciler) clean(ctx, force context.Context, db *database.DB) error {
	limit := cleanupGrace
	if force.Err() != nil {
		limit = time.Second
	}
	ctx, cancel := extend(ctx, limit, queryTimeout)
	defer cancel()
	for try := 1; ; try++ {
		removed, err := ledger.Remove(ctx, db, l.spec.Cleanup, l.run)
		switch {
		case db.Dialect.Is(err, database.Deadlock) && try < cleanupTries: // the service may still be writing these rows
		case err != nil:
			return fmt.Errorf("remove the run's rows: %w", err)
		case removed == 0 || try == cleanupTries:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// extend returns a context that is done after limit, or the given time after ctx is
// done.
func extend(ctx context.Context, after, limit time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, cancel) })
	return out, func() { stop(); cancel() }
}

// read reads the persisted transactions into the record, again until no acknowledged one
// is missing or the wait ends.
func (l *reconciler) read(ctx context.Context, db *database.DB, w *record.Writer) error {
	deadline := time.Now().Add(l.wait)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		missing, err := l.poll(ctx, db, w)
		if err != nil || missing == 0 || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return &ledger.ReadError{Err: context.Cause(ctx)}
		case <-time.After(pause):
		}
	}
}

// poll reads the persisted transactions once, and returns how many are missing.
func (l *reconciler) poll(ctx context.Context, db *database.DB, w *record.Writer) (missing int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = w.Persisted(func(add func(ledger.Entry) error) error {
		return ledger.Read(ctx, db, l.spec.Persisted, l.run, add)
	})
	if err != nil {
		return 0, err
	}
	c, err := w.CompareLedger()
	return c.Missing, err
}
