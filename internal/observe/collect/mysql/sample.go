package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
)

// active is an active session in one sample.
type active struct {
	session
	owner
	digest string // of the statement, 16 digits; the statement's text if digestIsText

	idle   bool
	waitID uint64  // of the innermost wait in progress; 0: none
	waited float64 // duration of that wait so far, in ps
}

// sampler takes samples. It decides how row lock waits are found: exactly, by session, or
// from the number of waiting sessions.
type sampler struct {
	noLocks bool // data_lock_waits cannot be read

	waiters int // sessions waiting for a row lock at the last count
	ticks   int // samples since that count
}

const (
	// With more than manyWaiters waiting sessions only every exactEvery-th sample reads
	// row locks exactly: its cost grows with the square of the number of waiters (1 ms
	// at 60, 6 ms at 200).
	manyWaiters = 64
	exactEvery  = 5
)

// exact reports whether the next sample reads which sessions wait for row locks, rather
// than how many.
func (s *sampler) exact(f *flavour) bool {
	return !f.countsRowLocks && !s.noLocks && (s.waiters <= manyWaiters || s.ticks >= exactEvery-1)
}

// take returns the active sessions at this moment.
func (s *sampler) take(ctx context.Context, l *link) ([]active, error) {
	f := l.flavour
	statement, exact := f.sampleWithout, s.exact(f)
	if exact {
		statement = f.sample
	}
	byThread := map[uint64]int{}
	var found []active
	waiters := 0
	err := l.query(ctx, statement, nil, func(rows *sql.Rows) error {
		var thread uint64
		var command, state, instrument, digest, event sql.NullString
		var waitID, lock sql.NullInt64
		var waited sql.NullFloat64
		var connection sql.NullInt64
		var user, host, schema sql.NullString
		if err := rows.Scan(&thread, &command, &state, &instrument, &digest, &waitID, &event, &waited, &lock, &connection, &user, &host, &schema); err != nil {
			return err
		}
		at, known := byThread[thread]
		if !known {
			at = len(found)
			byThread[thread] = at
			found = append(found, active{session: session{
				flavour: f, Command: command.String, State: state.String, Statement: instrument.String,
			}, owner: owner{thread, uint64(connection.Int64), user.String, host.String, schema.String}, digest: digest.String})
			if !f.countsRowLocks && lock.Int64 > 0 {
				waiters++
				found[at].RowLock = true
			}
		}
		if f.countsRowLocks && lock.Valid {
			waiters = int(lock.Int64)
		}
		if a := &found[at]; waitID.Valid && uint64(waitID.Int64) >= a.waitID {
			a.waitID, a.Event, a.waited = uint64(waitID.Int64), event.String, waited.Float64
			a.idle = event.String == "idle"
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.ticks++
	if exact || f.countsRowLocks {
		s.waiters, s.ticks = waiters, 0
	}
	if !exact {
		markRowLocks(found, s.waiters)
	}
	return slices.DeleteFunc(found, func(a active) bool { return a.idle }), nil
}

// markRowLocks marks the n sessions that are most likely to wait for a row lock. Such a
// wait is part of a handler call and makes it long, so the longest handler calls are
// marked. SELECT statements come last, because one of their calls may scan a whole table.
func markRowLocks(sessions []active, n int) {
	if n <= 0 {
		return
	}
	var candidates []*active
	for i := range sessions {
		if strings.TrimPrefix(sessions[i].Event, "wait/") == handlerEvent {
			candidates = append(candidates, &sessions[i])
		}
	}
	slices.SortStableFunc(candidates, func(a, b *active) int {
		return cmp.Or(cmp.Compare(selectRank(a), selectRank(b)), cmp.Compare(b.waited, a.waited))
	})
	for _, c := range candidates[:min(n, len(candidates))] {
		c.RowLock = true
	}
}

// selectRank is 1 for a SELECT statement, else 0.
func selectRank(a *active) int {
	if a.Statement == "statement/sql/select" {
		return 1
	}
	return 0
}
