package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// active is an active session in one sample.
type active struct {
	session
	owner
	digest string // digest of the statement, 16 digits; the statement's text if digestIsText

	idle   bool
	waitID uint64  // ID of the innermost wait in progress; 0: none
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
		var a active
		var event string
		var waitID, lock sql.NullInt64
		var waited float64
		if err := rows.Scan(&a.thread, orZero(&a.Command), orZero(&a.State), orZero(&a.Statement), orZero(&a.digest), &waitID, orZero(&event), orZero(&waited), &lock,
			orZero(&a.connection), orZero(&a.user), orZero(&a.host), orZero(&a.schema)); err != nil {
			return err
		}
		at, known := byThread[a.thread]
		if !known {
			at = len(found)
			byThread[a.thread] = at
			a.flavour = f
			if !f.countsRowLocks && lock.Int64 > 0 {
				waiters++
				a.RowLock = true
			}
			found = append(found, a)
		}
		if f.countsRowLocks && lock.Valid {
			waiters = int(lock.Int64)
		}
		if a := &found[at]; waitID.Valid && uint64(waitID.Int64) >= a.waitID {
			a.waitID, a.Event, a.waited = uint64(waitID.Int64), event, waited
			a.idle = event == "idle"
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

// session is what one sample saw of one active session.
type session struct {
	flavour   *flavour
	Command   string // PROCESSLIST_COMMAND
	State     string // PROCESSLIST_STATE; empty: none
	Statement string // instrument of the statement, such as statement/sql/update; empty: none
	Event     string // instrument of the innermost wait in progress, such as wait/io/file/sql/binlog; empty: none
	RowLock   bool   // waits for a row lock
}

// Events that are not names of wait instruments.
const (
	handlerEvent = "io/table/sql/handler"
	rowLockEvent = "row_lock_wait" // a row lock without a wait event
	connectEvent = "connect"       // the session is being opened
	cpuEvent     = "cpu"
	commitEvent  = "Commit" // a commit without wait event and state
)

// activity returns what the session is doing or waiting for (docs/waits.md, Classify and Events), without
// its digest: a row lock; else the wait in progress; else a class inferred from the session's
// state; else CPU, also inferred. The event is the wait's name without the prefix wait/, or
// the state, or cpu.
func (s session) activity() sampling.Session {
	event := strings.TrimPrefix(s.Event, "wait/")
	server := s.flavour.name
	switch {
	case s.RowLock:
		// Locks and waits are not read atomically: the session may be in another wait
		// by now.
		if event != handlerEvent && wait.ClassOf(server, event) != wait.RowLock {
			event = rowLockEvent
		}
		return sampling.Session{Event: event, Class: wait.RowLock}
	case event != "":
		return sampling.Session{Event: event, Class: wait.ClassOf(server, event)}
	}
	if class, ok := wait.ClassOfState(server, s.State); ok {
		return sampling.Session{Event: s.State, Class: class, Inferred: true}
	}
	switch {
	case s.flavour.commitHasGaps && s.State == "" && isDML(s.Statement):
		return sampling.Session{Event: commitEvent, Class: wait.Commit, Inferred: true}
	case s.Command == "Connect":
		return sampling.Session{Event: connectEvent, Class: wait.Storm, Inferred: true}
	}
	return sampling.Session{Event: cpuEvent, Class: wait.CPU, Inferred: true}
}

// isDML reports whether a statement changes rows. It is false for MariaDB's prepared
// statements (statement/com/Execute), whose kind is unknown.
func isDML(statement string) bool {
	switch kind, _ := strings.CutPrefix(statement, "statement/sql/"); kind {
	case "insert", "insert_select", "update", "update_multi", "delete", "delete_multi", "replace", "replace_select", "load", "commit", "xa_commit", "xa_prepare":
		return true
	}
	return false
}

// owner is who opened a session, as the threads table has it.
type owner struct {
	thread, connection uint64
	user, host, schema string
}

// clients names the clients of sessions. User, host and schema are often the same for
// several programs, which their connection attributes tell apart. They are read once per
// connection, together for those that are new in a sample.
type clients struct {
	labels  sampling.Clients
	byOwner map[uint64]string // by thread
}

// maxKnown bounds byOwner: a service may open a connection per request.
const maxKnown = 4096

// name returns the labels of the sessions' clients, in their order. If the attributes
// cannot be read, clients are told apart by user, host and schema.
func (c *clients) name(ctx context.Context, l *link, sessions []owner) []string {
	if c.labels == nil {
		c.labels = sampling.Clients{}
	}
	if c.byOwner == nil || len(c.byOwner) > maxKnown {
		c.byOwner = map[uint64]string{}
	}
	var unknown []string
	for _, s := range sessions {
		if _, ok := c.byOwner[s.thread]; !ok {
			unknown = append(unknown, fmt.Sprint(s.connection))
		}
	}
	attributes := map[uint64]sampling.Client{}
	if len(unknown) > 0 {
		// An error that breaks the connection is that of the next statement too.
		_ = l.query(ctx, "SELECT PROCESSLIST_ID, ATTR_NAME, ATTR_VALUE FROM performance_schema.session_connect_attrs"+
			" WHERE PROCESSLIST_ID IN ("+strings.Join(unknown, ", ")+") AND ATTR_NAME IN ('_client_name', 'program_name', '_pid')", nil,
			func(rows *sql.Rows) error {
				var id uint64
				var name, value string
				err := rows.Scan(&id, orZero(&name), orZero(&value))
				of := attributes[id]
				switch {
				case name == "_pid":
					of.Process = value
				case name == "program_name" || of.Program == "":
					of.Program = value
				}
				attributes[id] = of
				return err
			})
	}
	labels := make([]string, len(sessions))
	for i, s := range sessions {
		label, ok := c.byOwner[s.thread]
		if !ok {
			of := attributes[s.connection]
			of.User, of.Host, of.Schema = s.user, s.host, s.schema
			label = c.labels.Label(of)
			if s.user != "" { // else it has not logged in yet
				c.byOwner[s.thread] = label
			}
		}
		labels[i] = label
	}
	return labels
}

// blocker is a session that holds a row lock.
type blocker struct {
	session
	owner
	waiters int    // sessions that wait for it
	waitID  uint64 // ID of the session's innermost wait in progress; 0: none
}

// readBlockers finds the sessions that hold contended row locks and what each of them is
// doing: contention caused by a slow commit differs from contention on a hot row. Its cost
// grows with the square of the number of waiters, so it runs at most once per second.
func (c *collector) readBlockers(ctx context.Context, known *clients) ([]metric.Point, error) {
	if c.sampler.waiters == 0 || c.sampler.noLocks || c.noBlockers {
		return nil, nil
	}
	found := map[uint64]blocker{}
	err := c.link.query(ctx, c.link.flavour.blockers, nil, func(rows *sql.Rows) error {
		b := blocker{session: session{flavour: c.link.flavour}}
		err := rows.Scan(&b.thread, orZero(&b.Command), orZero(&b.State), orZero(&b.Statement), orZero(&b.waitID), orZero(&b.Event), &b.waiters,
			orZero(&b.connection), orZero(&b.user), orZero(&b.host), orZero(&b.schema))
		if err != nil {
			return err
		}
		if before, known := found[b.thread]; !known || b.waitID >= before.waitID {
			found[b.thread] = b
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
