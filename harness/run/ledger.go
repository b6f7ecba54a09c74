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
	// persistPatience is how long, beyond the profile's own bound on the
	// persist lag, rows may take to appear before they count as missing.
	persistPatience = 5 * time.Second
	queryTimeout    = 60 * time.Second
	// cleanPatience is how long, once the run is interrupted, the removal of its
	// rows may still take.
	cleanPatience = 8 * time.Second
	cleanTries    = 5
)

// book gathers the acknowledged identities as they come and reads the
// persisted ones back at the end.
type book struct {
	run  string
	spec *spec.Ledger
	dsn  string
	wait time.Duration
	acks []ledger.Entry
}

func newBook(o Options) *book {
	b := &book{run: o.ID, spec: o.Profile.Ledger, dsn: o.DSN, wait: persistPatience}
	for _, s := range o.Profile.SLOs {
		if s.Metric == spec.PersistLagMetric {
			b.wait = max(b.wait, persistPatience+time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return b
}

// settle reads the persisted side back, again until nothing acknowledged is
// missing or patience ends, records it, and removes the run's rows. Once ctx is
// done nothing is compared any more: rows may still be on their way; once hurry
// is done they are left where they cannot be removed at once.
func (b *book) settle(ctx, hurry context.Context, w *record.Writer) (record.LedgerFact, error) {
	if b.spec == nil {
		return record.LedgerFact{State: record.StateAbsent, Reason: "the profile has none"}, nil
	}
	if b.dsn == "" {
		return record.LedgerFact{State: record.StateAbsent, Reason: "the run has no database to read persisted transactions from"}, nil
	}
	db, err := databases.Open(b.dsn)
	if err == nil {
		defer db.Close() // what is lost is of reads alone
		err = b.reach(ctx, db)
	}
	if err != nil {
		why := "the database cannot be reached: " + databases.Reason(err)
		if len(b.spec.Cleanup) > 0 {
			why += "; the run's rows were not removed"
		}
		return record.LedgerFact{State: record.StateFailed, Reason: why}, nil
	}
	var unwritten error
	fact := record.LedgerFact{State: record.StateOK}
	rows, err := b.read(ctx, db)
	switch {
	case ctx.Err() != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}
	case err != nil:
		fact = record.LedgerFact{State: record.StateFailed, Reason: databases.Reason(err)}
	default:
		unwritten = w.Persisted(rows)
	}
	if err := b.clean(ctx, hurry, db); err != nil {
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
func (b *book) reach(ctx context.Context, db *database.DB) error {
	deadline := time.Now().Add(b.wait)
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
func (b *book) clean(ctx, hurry context.Context, db *database.DB) error {
	patience := cleanPatience
	if hurry.Err() != nil {
		patience = time.Second
	}
	ctx, cancel := outlast(ctx, patience, queryTimeout)
	defer cancel()
	for try := 1; ; try++ {
		removed, err := ledger.Remove(ctx, db, b.spec.Cleanup, b.run)
		switch {
		case db.Dialect.Is(err, database.Deadlock) && try < cleanTries: // with the service's own work on those rows
		case err != nil:
			return fmt.Errorf("remove the run's rows: %w", err)
		case removed == 0 || try == cleanTries:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// outlast is done at the limit, or some time after ctx is.
func outlast(ctx context.Context, after, limit time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, cancel) })
	return out, func() { stop(); cancel() }
}

func (b *book) read(ctx context.Context, db *database.DB) ([]ledger.Entry, error) {
	deadline := time.Now().Add(b.wait)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		rows, err := b.query(ctx, db)
		if err != nil || ledger.Compare(b.acks, rows).Missing == 0 || time.Now().After(deadline) {
			return rows, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read persisted transactions: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func (b *book) query(ctx context.Context, db *database.DB) ([]ledger.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return ledger.Read(ctx, db, b.spec.Persisted, b.run)
}
