package postgres

import (
	"context"
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

//go:embed sql/locks.sql
var locksSQL string

// lock is a session that holds or waits for a lock.
type lock struct {
	pid          int32
	granted      bool
	object       string // that is locked
	state, event string // of the session
}

// readBlockers finds the sessions that hold contended row locks and what they are doing.
// It reads nothing if no session waited for a row lock in the last sample.
func (c *Collector) readBlockers(ctx context.Context) ([]metric.Point, error) {
	if c.waiters == 0 {
		return nil, nil
	}
	var locks []lock
	err := c.link.query(ctx, locksSQL, nil, func(rows pgx.Rows) error {
		var l lock
		err := rows.Scan(&l.pid, &l.granted, &l.object, &l.state, &l.event)
		locks = append(locks, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sampling.Blockers(holders(locks)), nil
}

// holders returns the number of sessions that wait for a row lock, directly or in a queue
// behind another session, by what the holder of the lock is doing.
func holders(locks []lock) map[sampling.Session]int {
	holder, waitsFor := map[string]lock{}, map[int32]string{}
	for _, l := range locks {
		if l.granted {
			holder[l.object] = l
		} else {
			waitsFor[l.pid] = l.object
		}
	}
	waiters := map[sampling.Session]int{}
	for _, object := range waitsFor {
		for range len(locks) { // bounded, because sessions in a deadlock wait in a circle
			held, known := holder[object]
			if !known {
				break // released since, or held by a prepared transaction
			}
			if object, known = waitsFor[held.pid]; known {
				continue
			}
			// Locks and sessions are not read at the same instant: a holder that waits
			// for a row lock by now has released this one.
			if activity := held.activity(); activity.Class != wait.RowLock {
				waiters[activity]++
			}
			break
		}
	}
	return waiters
}

// activity returns what the session is doing.
func (l lock) activity() sampling.Session {
	if strings.HasPrefix(l.state, "idle") {
		return sampling.Idle
	}
	return classify(l.event)
}
