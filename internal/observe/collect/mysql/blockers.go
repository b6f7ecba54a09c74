package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// blocker is a session that holds a row lock.
type blocker struct {
	session
	owner
	waiters int    // sessions that wait for it
	waitID  uint64 // of its innermost wait in progress; 0: none
}

// readBlockers finds the sessions that hold contended row locks and what each of them is
// doing: contention caused by a slow commit differs from contention on a hot row. Its cost
// grows with the square of the number of waiters, so it runs at most once per second.
func (c *Collector) readBlockers(ctx context.Context, known *clients) ([]metric.Point, error) {
	if c.sampler.waiters == 0 || c.sampler.noLocks || c.noBlockers {
		return nil, nil
	}
	found := map[uint64]blocker{}
	err := c.link.query(ctx, c.link.flavour.blockers, nil, func(rows *sql.Rows) error {
		var thread uint64
		var command, state, instrument, event sql.NullString
		var waitID, connection sql.NullInt64
		var user, host, schema sql.NullString
		b := blocker{session: session{flavour: c.link.flavour}}
		if err := rows.Scan(&thread, &command, &state, &instrument, &waitID, &event, &b.waiters, &connection, &user, &host, &schema); err != nil {
			return err
		}
		b.owner = owner{thread, uint64(connection.Int64), user.String, host.String, schema.String}
		b.Command, b.State, b.Statement, b.Event = command.String, state.String, instrument.String, event.String
		b.waitID = uint64(waitID.Int64)
		if before, known := found[thread]; !known || b.waitID >= before.waitID {
			found[thread] = b
		}
		return nil
	})
	if denied(err) {
		c.noBlockers = true
		c.notes.Add("database: the sessions that block others on row locks are not recorded; run as an administrator: GRANT PROCESS ON *.* TO %s;", c.account(ctx))
		return nil, nil
	}
	all := slices.Collect(maps.Values(found))
	owners := make([]owner, len(all))
	for i, b := range all {
		owners[i] = b.owner
	}
	clients := known.name(ctx, c.link, owners)
	waiters := map[sampling.Session]int{}
	for i, b := range all {
		holder := b.holder()
		holder.Client = clients[i]
		waiters[holder] += b.waiters
	}
	return sampling.Blockers(waiters), err
}

// holder classifies what the blocker is doing.
func (b blocker) holder() sampling.Session {
	if b.Event == "idle" || b.Command == "Sleep" && b.Event == "" {
		return sampling.Idle
	}
	return b.activity()
}
