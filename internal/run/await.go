package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
)

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
	db, err := databases.Open(l.dsn)
	if err != nil {
		return // reconcile reports it
	}
	defer db.Close() // read-only
	if l.reach(ctx, db) != nil {
		return
	}
	l.arrival = l.newArrival()
	_ = l.awaitRows(ctx, db, acknowledged, report) // reconcile reads the rows themselves, and reports the error
}

// awaitRows waits until there are so many rows, or the wait is over.
func (l *reconciler) awaitRows(ctx context.Context, db *database.DB, want int64, report func(text string)) error {
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
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// count counts the rows of the run without fetching them.
func (l *reconciler) count(ctx context.Context, db *database.DB) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	total := int64(0)
	for _, of := range l.ledgers {
		n, err := ledger.Count(ctx, db, of.Persisted, l.run)
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
