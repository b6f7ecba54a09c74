package run

import (
	"context"
	"fmt"
	"time"

	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/ledger"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

const (
	// persistTimeout is how long, beyond the profile's own bound on the
	// persist lag, rows may take to appear before they count as missing.
	persistTimeout = 5 * time.Second
	queryTimeout   = 60 * time.Second
	// cleanupGrace is how long, once the run is interrupted, the removal of its
	// rows may still take.
	cleanupGrace = 8 * time.Second
	cleanupTries = 5
)

// reconciler gathers the acknowledged identities as they come and reads the
// persisted ones back at the end.
type reconciler struct {
	run  string
	spec *spec.Ledger
	dsn  string
	wait time.Duration
	acks []ledger.Entry
}

func newReconciler(o Options) *reconciler {
	l := &reconciler{run: o.ID, spec: o.Profile.Ledger, dsn: o.DSN, wait: persistTimeout}
	for _, s := range o.Profile.SLOs {
		if s.Metric == spec.PersistLagMetric {
			l.wait = max(l.wait, persistTimeout+time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return l
}

// reconcile reads the persisted side back, again until nothing acknowledged is
// missing or the wait ends, records it, and removes the run's rows. Once ctx is
// done nothing is compared any more: rows may still be on their way; once force
// is done they are left where they cannot be removed at once.
func (l *reconciler) reconcile(ctx, force context.Context, w *record.Writer) (record.LedgerFact, error) {
	if l.spec == nil {
		return record.LedgerFact{State: record.StateAbsent, Reason: "the profile has none"}, nil
	}
	if l.dsn == "" {
		return record.LedgerFact{State: record.StateAbsent, Reason: "the run has no database to read persisted transactions from"}, nil
	}
	db, err := databases.Open(l.dsn)
	if err == nil {
		defer db.Close() // what is lost is of reads alone
		err = l.reach(ctx, db)
	}
	if err != nil {
		why := "the database cannot be reached: " + databases.Reason(err)
		if len(l.spec.Cleanup) > 0 {
			why += "; the run's rows were not removed"
		}
		return record.LedgerFact{State: record.StateFailed, Reason: why}, nil
	}
	var unwritten error
	fact := record.LedgerFact{State: record.StateOK}
	rows, err := l.read(ctx, db)
	switch {
	case ctx.Err() != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}
	case err != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: databases.Reason(err)}
	default:
		unwritten = w.Persisted(rows)
	}
	if err := l.clean(ctx, force, db); err != nil {
		if fact.Reason != "" {
			fact.Reason += "; "
		}
		fact.Reason += "the run's rows could not be removed: " + databases.Reason(err)
	}
	return fact, unwritten
}

// reach makes the connection, also where there is nothing left to read: a
// database that is gone must not hold up the end once for each statement. One
// that has no connection to spare may have one when the load's are given back.
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

// clean removes the run's rows, also after ctx is done, and again while there
// are some: a request that was cut off may still be writing its own.
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
		case db.Dialect.Is(err, database.Deadlock) && try < cleanupTries: // with the service's own work on those rows
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

// extend is done at the limit, or some time after ctx is.
func extend(ctx context.Context, after, limit time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, cancel) })
	return out, func() { stop(); cancel() }
}

func (l *reconciler) read(ctx context.Context, db *database.DB) ([]ledger.Entry, error) {
	deadline := time.Now().Add(l.wait)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		rows, err := l.query(ctx, db)
		if err != nil || ledger.Compare(l.acks, rows).Missing == 0 || time.Now().After(deadline) {
			return rows, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read persisted transactions: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func (l *reconciler) query(ctx context.Context, db *database.DB) ([]ledger.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return ledger.Read(ctx, db, l.spec.Persisted, l.run)
}
