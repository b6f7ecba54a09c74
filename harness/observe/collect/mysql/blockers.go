package mysql

import (
	"context"
	"database/sql"

	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
)

// blocker is a session that holds a row lock, and how many wait for it.
type blocker struct {
	session
	waiters int
	waitID  uint64
}

// readBlockers finds the sessions that hold row locks which others wait for, and
// what these holders do: a lock whose holder waits for its commit has another cause
// than one that many want. Its cost grows with the square of the waiters; it is read
// at most once a second.
func (c *Collector) readBlockers(ctx context.Context) ([]metric.Point, error) {
	if c.sampler.waiters == 0 || c.sampler.noLocks || c.noBlockers {
		return nil, nil
	}
	found := map[uint64]blocker{}
	err := c.link.query(ctx, c.link.flavour.blockers, nil, func(rows *sql.Rows) error {
		var thread uint64
		var command, state, instrument, event sql.NullString
		var waitID sql.NullInt64
		b := blocker{session: session{flavour: c.link.flavour}}
		if err := rows.Scan(&thread, &command, &state, &instrument, &waitID, &event, &b.waiters); err != nil {
			return err
		}
		b.Command, b.State, b.Statement, b.Event = command.String, state.String, instrument.String, event.String
		b.waitID = uint64(waitID.Int64)
		if before, known := found[thread]; !known || b.waitID >= before.waitID {
			found[thread] = b
		}
		return nil
	})
	if denied(err) {
		c.noBlockers = true
		c.notes.Add("database: who holds the row locks that others wait for is not recorded; run as an administrator: GRANT PROCESS ON *.* TO %s;", c.account(ctx))
		return nil, nil
	}
	waiters := map[sampling.Session]int{}
	for _, b := range found {
		waiters[b.holder()] += b.waiters
	}
	return sampling.Blockers(waiters), err
}

// holder is the blocker as it is counted.
func (b blocker) holder() sampling.Session {
	if b.Event == "idle" || b.Command == "Sleep" && b.Event == "" {
		return sampling.Idle
	}
	return b.seen()
}
