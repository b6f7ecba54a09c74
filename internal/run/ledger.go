package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

const (
	// persistTimeout is how long after the last row that appeared a further one may take
	// before it counts as missing, in addition to the profile's limit on persist lag.
	persistTimeout = 5 * time.Second
	// persistLimit bounds the wait while rows still appear. Report D saw 7 minutes.
	persistLimit = 30 * time.Minute
	// queryTimeout bounds a statement; of one that returns rows, the time without one.
	queryTimeout = 60 * time.Second
	// cleanupGrace is how long the removal of the run's rows may take after the run was
	// interrupted.
	cleanupGrace = 8 * time.Second
	cleanupTries = 5
	// cleanupLimit bounds the removal of the run's rows. A single statement may delete
	// some of them: while it deletes any, it is repeated.
	cleanupLimit = 30 * time.Minute
	// cleanupChunk is how many rows at a time show that there are more: the statement is
	// repeated without a pause.
	cleanupChunk = 1000
)

// flowLedger is the ledger of one of the profile's flows.
type flowLedger struct {
	flow int // its number in the profile, from 0
	*spec.Ledger
}

// reconciler reads persisted identities from the database after the load, compares them
// with those that the record holds as acknowledged, and removes the run's rows.
type reconciler struct {
	run        string
	ledgers    []flowLedger // none: nothing is compared
	invariants []spec.Invariant
	dsn        string
	wait       time.Duration      // for a row, after the last one that appeared
	limit      time.Duration      // of the wait in total
	timeout    time.Duration      // of a statement; of one that returns rows, the time without one
	violated   []record.Invariant // what came of the invariants; set by reconcile
	arrival    *arrival           // of the rows so far; nil: none was waited for yet
}

func newReconciler(o Options) *reconciler {
	l := &reconciler{run: o.ID, invariants: o.Profile.Invariants, dsn: o.DSN, wait: persistTimeout, limit: persistLimit, timeout: queryTimeout}
	for i, of := range o.Profile.Flows {
		if of.Ledger != nil {
			l.ledgers = append(l.ledgers, flowLedger{i, of.Ledger})
		}
	}
	for _, s := range o.Profile.AllSLOs() {
		if s.Metric == metric.PersistLag {
			l.wait = max(l.wait, persistTimeout+time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return l
}

// reconcile reads the persisted transactions until no acknowledged one is missing or
// the wait ends, records them, and checks the invariants. Once ctx is done it compares
// nothing, since rows may still be on their way.
func (l *reconciler) reconcile(ctx context.Context, w *record.Writer) (record.LedgerFact, error) {
	if len(l.ledgers) == 0 {
		l.checkInvariants(ctx, nil)
		return record.LedgerFact{State: record.StateAbsent, Reason: "the profile has no ledger"}, nil
	}
	if l.dsn == "" {
		l.checkInvariants(ctx, nil)
		return record.LedgerFact{State: record.StateAbsent, Reason: "the run has no database to read persisted transactions from"}, nil
	}
	db, err := databases.Open(l.dsn)
	if err == nil {
		defer db.Close() // read-only
		err = l.reach(ctx, db)
	}
	if err != nil {
		why := "the database cannot be reached: " + databases.Reason(err)
		l.failInvariants(why)
		return record.LedgerFact{State: record.StateFailed, Reason: why}, w.RemovePersisted()
	}
	var writeError error
	fact := record.LedgerFact{State: record.StateOK}
	if l.arrival == nil {
		l.arrival = l.newArrival()
	}
	err = l.read(ctx, db, w)
	var unread *ledger.ReadError
	switch {
	case ctx.Err() != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}
	case errors.As(err, &unread):
		fact = record.LedgerFact{State: record.StateFailed, Reason: databases.Reason(err)}
	case errors.Is(err, errUnfinished):
		fact.Unfinished, fact.Reason = true, err.Error()
	default:
		writeError = err
	}
	if fact.State == record.StateFailed {
		writeError = w.RemovePersisted()
	}
	l.checkInvariants(ctx, db)
	return fact, writeError
}

// reach connects first, so that an unreachable database delays the end once rather
// than once per statement. A server at its connection limit is retried: the load's
// connections are being closed.
func (l *reconciler) reach(ctx context.Context, db *database.DB) (err error) {
	defer foreign.Guard(&err)
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
// still be writing. It also does so after ctx is done; once force is done only if that
// takes a moment.
func (l *reconciler) clean(ctx, force context.Context, report func(text string)) error {
	if l.dsn == "" || len(l.cleanup()) == 0 {
		return nil
	}
	db, err := databases.Open(l.dsn)
	if err != nil {
		return err
	}
	defer db.Close() // each statement has reported its own errors
	if err := l.reach(ctx, db); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	limit := cleanupGrace
	if force.Err() != nil {
		limit = time.Second
	}
	ctx, cancel := extend(ctx, limit, cleanupLimit)
	defer cancel()
	total, reported := int64(0), time.Now()
	for few := 1; ; { // passes that found few rows
		removed, err := l.remove(ctx, db)
		if total += removed; time.Since(reported) >= awaitReport {
			reported = time.Now()
			report(fmt.Sprintf("removing the run's rows, %d so far", total))
		}
		switch {
		case db.Dialect.Is(err, database.Deadlock) && few < cleanupTries: // the service may still be writing these rows
		case err != nil:
			return fmt.Errorf("remove the run's rows: %w", err)
		case removed == 0 || removed < cleanupChunk && few == cleanupTries:
			return nil
		case removed >= cleanupChunk:
			continue
		}
		few++
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (l *reconciler) remove(ctx context.Context, db *database.DB) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return ledger.Remove(ctx, db, l.cleanup(), l.run)
}

// cleanup are the statements that remove the rows of all flows.
func (l *reconciler) cleanup() (all []string) {
	for _, of := range l.ledgers {
		all = append(all, of.Cleanup...)
	}
	return all
}

// extend returns a context that is done after limit, or the given time after ctx is
// done.
func extend(ctx context.Context, after, limit time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, cancel) })
	return out, func() { stop(); cancel() }
}

// errUnfinished: rows were still being stored when the wait ended.
var errUnfinished = errors.New("rows were still being stored when the wait for them ended: those that are missing are late or lost")

// read reads the persisted transactions into the record, again until no acknowledged one
// is missing or the wait is over.
func (l *reconciler) read(ctx context.Context, db *database.DB, w *record.Writer) error {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		over := l.arrival.ended()
		c, err := l.poll(ctx, db, w)
		if err != nil || c.Missing == 0 {
			return err
		}
		if l.arrival.saw(c.Persisted); over || l.arrival.ended() {
			if l.arrival.unfinished() {
				return errUnfinished
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return &ledger.ReadError{Err: context.Cause(ctx)}
		case <-time.After(pause):
		}
		// To count is cheaper than to read.
		if err := l.awaitRows(ctx, db, c.Persisted+c.Missing, func(string) {}); err != nil && !errors.Is(err, errCount) {
			return &ledger.ReadError{Err: err}
		}
	}
}

// poll reads the persisted transactions once, and compares them.
func (l *reconciler) poll(ctx context.Context, db *database.DB, w *record.Writer) (c ledger.Comparison, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const each = 1024
	idle := time.AfterFunc(l.timeout, func() { cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	rows := 0
	err = w.Persisted(func(add func(ledger.Entry) error) error {
		for _, of := range l.ledgers {
			err := ledger.Read(ctx, db, of.Persisted, l.run, func(e ledger.Entry) error {
				if rows++; rows%each == 0 {
					idle.Reset(l.timeout)
				}
				e.Flow = of.flow
				return add(e)
			})
			if err != nil {
				return err
			}
			idle.Reset(l.timeout)
		}
		return nil
	})
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = &ledger.ReadError{Err: context.Cause(ctx)} // database/sql says that it was cancelled
	}
	if err != nil {
		return c, err
	}
	return w.CompareLedger()
}
