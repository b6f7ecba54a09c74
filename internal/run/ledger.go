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
	flow int    // its number in the profile, from 0
	name string // empty: the only one
	*spec.Ledger
	query ledger.Query // for the persisted side
}

// reconciler reads persisted identities from the database after the load, compares them
// with those that the record holds as acknowledged, and removes the run's rows.
type reconciler struct {
	run        string
	ledgers    []flowLedger // none: nothing is compared
	invariants []spec.Invariant
	dsn        string
	wait       time.Duration // for a row, after the last one that appeared
	limit      time.Duration // limit of the wait in total
	// timeout is the limit of a statement; for one that returns rows, of the time without a row.
	timeout  time.Duration
	violated []record.Invariant // what came of the invariants; set by reconcile
	arrival  *arrival           // arrival of the rows so far; nil: no row was waited for yet
}

func newReconciler(o *Options) *reconciler {
	l := &reconciler{run: o.ID, invariants: o.Profile.Invariants, dsn: o.DSN, wait: persistTimeout, limit: persistLimit, timeout: queryTimeout}
	for i, of := range o.Profile.Flows {
		if of.Ledger != nil {
			l.ledgers = append(l.ledgers, flowLedger{flow: i, name: of.Name, Ledger: of.Ledger})
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
func (l *reconciler) reconcile(ctx context.Context, w *record.Writer) (fact record.LedgerFact, err error) {
	switch {
	case len(l.ledgers) == 0:
		fact = record.LedgerFact{State: record.StateAbsent, Reason: "the profile has no ledger"}
	case l.dsn == "":
		fact = record.LedgerFact{State: record.StateAbsent, Reason: "the run has no database to read persisted transactions from"}
	}
	switch {
	case len(l.ledgers)+len(l.invariants) == 0:
		return fact, nil
	case l.dsn == "":
		l.failInvariants("the run has no database in which to check it")
		return fact, nil
	}
	db, err := l.open(ctx)
	if err != nil {
		why := "the database cannot be reached: " + databases.Reason(err)
		l.failInvariants(why)
		if fact.State == record.StateAbsent {
			return fact, nil
		}
		return record.LedgerFact{State: record.StateFailed, Reason: why}, w.RemovePersisted()
	}
	defer db.Close() // read-only
	if fact.State != record.StateAbsent {
		fact, err = l.compare(ctx, db, w)
	}
	l.checkInvariants(ctx, db)
	return fact, err
}

// compare compares persisted and acknowledged transactions. Its error is of the record.
func (l *reconciler) compare(ctx context.Context, db database.Store, w *record.Writer) (record.LedgerFact, error) {
	if l.arrival == nil {
		l.arrival = l.newArrival()
	}
	err := l.read(ctx, db, w)
	var unread *ledger.ReadError
	switch {
	case ctx.Err() != nil:
		return record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}, w.RemovePersisted()
	case errors.As(err, &unread):
		return record.LedgerFact{State: record.StateFailed, Reason: databases.Reason(err)}, w.RemovePersisted()
	}
	fact := record.LedgerFact{State: record.StateOK}
	if errors.Is(err, errUnfinished) {
		fact.Unfinished, fact.Reason, err = true, err.Error(), nil
	}
	l.describe(ctx, db, &fact)
	return fact, err
}

// open opens the database, and reaches it.
func (l *reconciler) open(ctx context.Context) (database.Store, error) {
	db, err := databases.Open(l.dsn)
	if err != nil {
		return nil, err
	}
	if err := l.reach(ctx, db); err != nil {
		_ = db.Close() // nothing was read
		return nil, err
	}
	return db, nil
}

// reach connects first, so that an unreachable database delays the end once rather
// than once per statement. A server at its connection limit is retried: the load's
// connections are being closed.
func (l *reconciler) reach(ctx context.Context, db database.Store) (err error) {
	defer foreign.Guard(&err)
	deadline := time.Now().Add(l.wait)
	for {
		err := db.Ping(context.WithoutCancel(ctx))
		if !db.Is(err, database.TooManyConnections) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		sleep(ctx, 250*time.Millisecond)
	}
}

// clean removes the run's rows until none is left, since an aborted request may
// still be writing. It also does so after ctx is done; once force is done only if that
// takes a moment.
func (l *reconciler) clean(ctx, force context.Context, report func(text string)) error {
	if l.dsn == "" || len(l.cleanup()) == 0 {
		return nil
	}
	db, err := l.open(ctx)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	defer db.Close() // each statement has reported its own errors
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
		case db.Is(err, database.Deadlock) && few < cleanupTries: // the service may still be writing these rows
		case err != nil:
			return fmt.Errorf("remove the run's rows: %w", err)
		case removed == 0 || removed < cleanupChunk && few == cleanupTries:
			return nil
		case removed >= cleanupChunk:
			continue
		}
		few++
		sleep(ctx, 200*time.Millisecond)
	}
}

func (l *reconciler) remove(ctx context.Context, db database.Store) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return db.Remove(ctx, l.cleanup(), l.run)
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
func (l *reconciler) read(ctx context.Context, db database.Store, w *record.Writer) error {
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
		if !sleep(ctx, pause) {
			return &ledger.ReadError{Err: context.Cause(ctx)}
		}
		// To count is cheaper than to read.
		if err := l.awaitRows(ctx, db, c.Persisted+c.Missing, func(string) {}); err != nil && !errors.Is(err, errCount) {
			return &ledger.ReadError{Err: err}
		}
	}
}

// poll reads the persisted transactions once, and compares them. Where acknowledged ones seem to
// be missing, and there are rows of others, it reads the identities as most were acknowledged.
func (l *reconciler) poll(ctx context.Context, db database.Store, w *record.Writer) (c ledger.Comparison, err error) {
	if err := l.readRows(ctx, db, w); err != nil {
		return c, err
	}
	c, err = w.CompareLedger()
	reread := false
	for i := range l.ledgers {
		of := &l.ledgers[i]
		if found := c.Of(of.flow); err != nil || found.Missing == 0 || found.Unacknowledged == 0 {
			continue
		}
		var best ledger.Reading
		best, err = of.query.BestReading(func(visit func(ledger.Hash)) error { return w.EachAcknowledged(of.flow, visit) })
		reread = reread || best.Name != of.query.Reading.Name
		of.query.Reading = best
	}
	if err != nil || !reread {
		return c, err
	}
	if err := l.readRows(ctx, db, w); err != nil {
		return c, err
	}
	return w.CompareLedger()
}

// readRows reads the persisted transactions into the record.
func (l *reconciler) readRows(ctx context.Context, db database.Store, w *record.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const each = 1024
	idle := time.AfterFunc(l.timeout, func() { cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	rows := 0
	err := w.Persisted(func(add func(ledger.Entry) error) error {
		for i := range l.ledgers {
			of := &l.ledgers[i]
			of.query.Run, of.query.SQL = l.run, of.Persisted
			err := of.query.Read(ctx, db, func(e ledger.Entry) error {
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
	return err
}

// describe adds to a fact what was read, and by which clock.
func (l *reconciler) describe(ctx context.Context, db database.Store, fact *record.LedgerFact) {
	fact.ReadAt = time.Now().UTC()
	ctx, cancel := context.WithTimeout(ctx, database.ConnectTimeout)
	defer cancel()
	for _, zone := range db.Zones(ctx) {
		if zone != 0 {
			fact.ZoneSeconds = append(fact.ZoneSeconds, int64(zone/time.Second))
		}
	}
	if clock := db.Facts(ctx).Clock; clock.Known {
		ms := float64(clock.Ahead) / float64(time.Millisecond)
		fact.ClockMs, fact.ClockWithinMs = &ms, float64(clock.Uncertainty)/float64(time.Millisecond)
	}
	for _, of := range l.ledgers {
		for len(fact.Forms) <= of.flow {
			fact.Forms = append(fact.Forms, ledger.Forms{})
		}
		fact.Forms[of.flow] = of.query.Forms
		note := func(format string, args ...any) {
			fact.Notes = append(fact.Notes, spec.NameOf(of.name, fmt.Sprintf(format, args...)))
		}
		if n := of.query.Undated; n > 0 {
			note("rows without a time count as not persisted: %d, the first of which has the identity with the hash %x", n, of.query.Example)
		}
		if n := of.query.Unnamed; n > 0 {
			note("rows without an identity, which belong to no acknowledged transaction: %d", n)
		}
		if name := of.query.Reading.Name; name != "" {
			note("stored identities are read as %s", name)
		}
	}
}

const (
	// countPauses is how many times as long as a count of rows the pause after it is: the
	// count may take seconds, and the database is busy.
	countPauses   = 4
	minCountPause = 250 * time.Millisecond
	maxCountPause = 10 * time.Second
	// awaitReport is the time between two reports of the wait.
	awaitReport = 10 * time.Second
)

// arrival is the wait for rows that are still being stored. Rows may take the profile's
// wait to appear; while further ones appear, they may take the limit in total.
type arrival struct {
	wait, limit time.Duration // after the last row, and in total
	began, grew time.Time     // when the wait began, and when a row appeared last
	rows        int64         // seen so far
}

func (l *reconciler) newArrival() *arrival {
	return &arrival{wait: l.wait, limit: l.limit, began: time.Now(), grew: time.Now()}
}

// saw notes a number of rows.
func (a *arrival) saw(rows int64) {
	if rows > a.rows {
		a.rows, a.grew = rows, time.Now()
	}
}

// ended reports whether the wait is over.
func (a *arrival) ended() bool {
	return time.Since(a.grew) > a.wait || time.Since(a.began) > a.limit
}

// unfinished reports whether the wait ended although rows were still appearing.
func (a *arrival) unfinished() bool {
	return time.Since(a.began) > a.limit && time.Since(a.grew) <= a.wait
}

// await waits until as many rows are stored as transactions were acknowledged, while the
// collectors still run: a service may answer first and store later. It gives up when none
// has appeared for the wait. Whether the rows are the right ones is for reconcile to find.
func (l *reconciler) await(ctx context.Context, acknowledged int64, report func(text string)) {
	if len(l.ledgers) == 0 || l.dsn == "" || acknowledged == 0 || ctx.Err() != nil {
		return
	}
	db, err := l.open(ctx)
	if err != nil {
		return // reconcile reports it
	}
	defer db.Close() // read-only
	l.arrival = l.newArrival()
	_ = l.awaitRows(ctx, db, acknowledged, report) // reconcile reads the rows themselves, and reports the error
}

// awaitRows waits until there are so many rows, or the wait is over.
func (l *reconciler) awaitRows(ctx context.Context, db database.Store, want int64, report func(text string)) error {
	for reported := time.Now(); ; {
		before := time.Now()
		n, err := l.count(ctx, db)
		if err != nil {
			return err
		}
		if l.arrival.saw(n); n >= want || l.arrival.ended() {
			return nil
		}
		if time.Since(reported) >= awaitReport {
			reported = time.Now()
			report(fmt.Sprintf("waiting for %d acknowledged transactions to be stored, %d are", want-n, n))
		}
		pause := min(max(minCountPause, countPauses*time.Since(before)), maxCountPause)
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// count counts the rows of the run without fetching them.
func (l *reconciler) count(ctx context.Context, db database.Store) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	total := int64(0)
	for _, of := range l.ledgers {
		n, err := db.Count(ctx, of.Persisted, l.run)
		if err != nil {
			return 0, errors.Join(errCount, err)
		}
		total += n
	}
	return total, nil
}

// errCount: the rows cannot be counted, for example because the query's columns have the
// same name. They are read instead.
var errCount = errors.New("count persisted transactions")

// checkInvariants checks the profile's invariants in the database. The last transactions may
// still be under way: an invariant that does not hold is checked again until it does, or for as
// long as the ledger waits.
func (l *reconciler) checkInvariants(ctx context.Context, db database.Store) {
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
func (l *reconciler) check(ctx context.Context, db database.Store, i spec.Invariant, deadline time.Time) record.Invariant {
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
		sleep(ctx, 250*time.Millisecond)
	}
}

// violations counts the rows that violate an invariant, at most record.MaxInvariantRows.
func violations(ctx context.Context, db database.Store, query, run string) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return db.CountFew(ctx, query, run, record.MaxInvariantRows)
}
