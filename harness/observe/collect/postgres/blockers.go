package postgres

import (
	"context"
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
	"assay/harness/observe/wait"
)

//go:embed sql/locks.sql
var locksSQL string

// lock is a session that holds or waits for a lock.
type lock struct {
	pid          int32
	granted      bool
	on           string
	state, event string // of the session
}

// readBlockers finds the sessions that hold row locks which others wait for, and what
// these holders do. It reads only where the last sample saw a session wait.
func (c *Collector) readBlockers(ctx context.Context) ([]metric.Point, error) {
	if c.waiters == 0 {
		return nil, nil
	}
	var locks []lock
	err := c.link.query(ctx, locksSQL, nil, func(rows pgx.Rows) error {
		var l lock
		err := rows.Scan(&l.pid, &l.granted, &l.on, &l.state, &l.event)
		locks = append(locks, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sampling.Blockers(holders(locks)), nil
}

// holders counts the sessions that wait for the holder of a row lock, directly or in
// the queue behind another one, by what the holder does.
func holders(locks []lock) map[sampling.Session]int {
	holder, waits := map[string]lock{}, map[int32]string{}
	for _, l := range locks {
		if l.granted {
			holder[l.on] = l
		} else {
			waits[l.pid] = l.on
		}
	}
	waiters := map[sampling.Session]int{}
	for _, on := range waits {
		for range len(locks) { // a deadlock has no holder
			held, known := holder[on]
			if !known {
				break // released since, or held by a prepared transaction
			}
			if on, known = waits[held.pid]; known {
				continue
			}
			// Locks and sessions are not read at the same instant: a holder that waits
			// for a row by now has released the lock.
			if holds := held.session(); holds.Class != wait.RowLock {
				waiters[holds]++
			}
			break
		}
	}
	return waiters
}

// session is the holder as it is counted.
func (l lock) session() sampling.Session {
	if strings.HasPrefix(l.state, "idle") {
		return sampling.Idle
	}
	return classify(l.event)
}
