package mysql

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// active is a session as one sample saw it.
type active struct {
	session
	digest string // of the statement, 16 digits; its text where the flavour has none

	idle   bool
	waitID uint64  // of the innermost wait in progress; 0: none
	waited float64 // ps: how long it lasts already
}

// sampler takes samples. It decides how row locks are found: session by session, or
// by the number of waiters.
type sampler struct {
	noLocks bool // data_lock_waits cannot be read

	waiters int // sessions that waited for a row lock when they were last counted
	ticks   int // samples since then
}

const (
	// manyWaiters makes the exact reading of row locks, whose cost grows with
	// the square of the waiters (1 ms at 60, 6 ms at 200), rare: every
	// rareTicks-th sample.
	manyWaiters = 64
	rareTicks   = 5
)

// exact tells whether the next sample reads which sessions wait, not only how many.
func (s *sampler) exact(f *flavour) bool {
	return !f.countsRowLocks && !s.noLocks && (s.waiters <= manyWaiters || s.ticks >= rareTicks-1)
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
		if err := rows.Scan(&thread, &command, &state, &instrument, &digest, &waitID, &event, &waited, &lock); err != nil {
			return err
		}
		at, known := byThread[thread]
		if !known {
			at = len(found)
			byThread[thread] = at
			found = append(found, active{session: session{
				flavour: f, Command: command.String, State: state.String, Statement: instrument.String,
			}, digest: digest.String})
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

// markRowLocks finds the sessions that wait for a row lock when only their
// number n is known: a row lock is waited for within a handler call, and takes
// long. Plain reads come last, as one of their calls may scan a whole table.
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
		if readsA, readsB := reads(a), reads(b); readsA != readsB {
			if readsA {
				return 1
			}
			return -1
		}
		switch {
		case a.waited > b.waited:
			return -1
		case a.waited < b.waited:
			return 1
		}
		return 0
	})
	for _, c := range candidates[:min(n, len(candidates))] {
		c.RowLock = true
	}
}

func reads(a *active) bool { return a.Statement == "statement/sql/select" }
