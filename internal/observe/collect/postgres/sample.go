package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"maps"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

//go:embed sql/sample.sql
var sampleSQL string

// cpuEvent is the event of a session without a wait event.
const cpuEvent = "cpu"

// classify returns the wait event of an active session, such as IO:WALSync, or, without
// one, CPU as inferred.
func classify(event string) sampling.Session {
	if event == "" {
		return sampling.Session{Event: cpuEvent, Class: wait.CPU, Inferred: true}
	}
	return sampling.Session{Event: event, Class: wait.ClassOf(wait.PostgreSQL, event)}
}

func (c *collector) Sample(ctx context.Context) ([]sampling.Session, error) {
	var sessions []sampling.Session
	waiters := 0
	err := c.link.query(ctx, sampleSQL, nil, func(rows pgx.Rows) error {
		var event string
		var id int64
		var by sampling.Client
		if err := rows.Scan(&event, &id, &by.User, &by.Host, &by.Schema, &by.Program); err != nil {
			return err
		}
		s := classify(event)
		s.Client = c.clients.Label(by)
		s.Digest = c.labels.Label(cmp.Or(c.statements.Names[id].Digest, digest(id)))
		if s.Class == wait.RowLock {
			waiters++
		}
		sessions = append(sessions, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.waiters = waiters
	return sessions, nil
}

// digest returns the query id of a statement in the server's notation; empty: none.
func digest(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

//go:embed sql/locks.sql
var locksSQL string

// lock is a session that holds or waits for a lock.
type lock struct {
	pid          int32
	granted      bool
	object       string // object that is locked
	state, event string // the session's state and wait event
}

// readBlockers finds the sessions that hold contended row locks and what they are doing.
// It reads nothing if no session waited for a row lock in the last sample.
func (c *collector) readBlockers(ctx context.Context) ([]metric.Point, error) {
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

var (
	//go:embed sql/statements.sql
	statementsSQL string
	//go:embed sql/texts.sql
	textsSQL string
)

// ownPrefix starts all of the collector's statements.
const ownPrefix = "/* assay */"

// statements turns readings of pg_stat_statements into points, by query id. Statements that
// differ only by literals have the same name.
type statements struct {
	sampling.Statements[int64, int64]
	first     map[[sha256.Size]byte]string // digests by the text's hash
	ownIDs    map[int64]bool               // true: the statement is the collector's
	remainder remainder
}

func newStatements() statements {
	return statements{
		Statements: sampling.Statements[int64, int64]{Statement: func(id int64) int64 { return id }, Names: map[int64]sampling.StatementName{}},
		first:      map[[sha256.Size]byte]string{}, ownIDs: map[int64]bool{},
	}
}

// readStatements returns the increases since the last reading by query id; none the first
// time.
func (c *collector) readStatements(ctx context.Context, s *statements) (map[int64]sampling.Usage, error) {
	if !c.capabilities.statementTimes() {
		return nil, nil
	}
	seen := map[int64]sampling.Usage{}
	err := c.link.query(ctx, c.capabilities.inSchema(statementsSQL), nil, func(rows pgx.Rows) error {
		var id int64
		var t sampling.Usage
		err := rows.Scan(&id, &t.Calls, &t.Ms)
		seen[id] = t
		return err
	})
	switch {
	case is(err, errDenied):
		c.notes.Add("database: times of statements are not recorded; run as an administrator: GRANT USAGE ON SCHEMA %s TO %s;", c.capabilities.schema, c.capabilities.user)
		c.capabilities.track = ""
		return nil, nil
	case is(err, errNotLoaded, errNoFunction, errNoSchema):
		c.capabilities.schema = "" // dropped since the capabilities were read
		c.noteStatements()
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.Increase(seen), nil
}

func (s *statements) restart() { s.Last, s.remainder = nil, remainder{} }

// readTexts reads the texts of statements that are not known yet, in the given order up to
// a limit.
func (c *collector) readTexts(ctx context.Context, s *statements, byTime []int64) error {
	var missing []int64
	for _, id := range byTime {
		if _, known := s.Names[id]; !known && id != 0 && len(s.Names)+len(missing) < 4*sampling.MaxDigests {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.link.query(ctx, c.capabilities.inSchema(textsSQL), []any{missing}, func(rows pgx.Rows) error {
		var id int64
		var text string
		err := rows.Scan(&id, &text)
		s.ownIDs[id] = strings.HasPrefix(text, ownPrefix)
		text = database.WithoutLiterals(text)
		hash := sha256.Sum256([]byte(text))
		s.first[hash] = cmp.Or(s.first[hash], digest(id))
		s.Names[id] = sampling.StatementName{Digest: s.first[hash], Text: sampling.Shorten(text)}
		return err
	})
}

// statementPoints returns points for the statements with the most time, for the sum of all
// others, and for the active time outside of statements. active is the active time of all
// sessions since the last reading, in ms.
func (c *collector) statementPoints(ctx context.Context, s *statements, changed map[int64]sampling.Usage, active float64, labels sampling.Digests) ([]metric.Point, error) {
	err := c.readTexts(ctx, s, sampling.ByTime(changed))
	maps.DeleteFunc(changed, func(id int64, _ sampling.Usage) bool { return s.ownIDs[id] })
	points, counted := s.Points(changed, labels, false)
	name := outside
	if !c.capabilities.statementTimes() {
		name = everything
	}
	spent := float64(c.link.spent.Microseconds()) / 1000
	c.link.spent = 0
	if ms := s.remainder.add(active - counted - spent); ms > 0 {
		points = append(points, metric.CounterPoint(metric.Of(metric.DBStatementTime, "digest", name.digest, "statement", name.text), ms))
	}
	return points, err
}

// pg_stat_statements times a statement until its executor ends. The commit that follows,
// with the flush of the write-ahead log, is not in any statement's time; neither are
// parsing, planning (by default) and sending over the network. The server's active_time
// includes all of them, so that statement times and this remainder add up to the time in
// the database.
var (
	outside    = struct{ digest, text string }{"outside", "outside of statements: commits, parsing, planning, sending"}
	everything = struct{ digest, text string }{"all", "all statements and commits: without pg_stat_statements they cannot be separated"}
)

// remainder is the active time outside of statements over a run, in ms. The server counts
// a statement at once, but active time up to a second or a transaction later. So a
// negative difference is subtracted from later ones.
type remainder struct{ sum, sent float64 }

// add adds the difference of one second and returns the time to send.
func (r *remainder) add(ms float64) float64 {
	r.sum += ms
	if r.sum <= r.sent {
		return 0
	}
	now := r.sum - r.sent
	r.sent = r.sum
	return now
}

//go:embed sql/status.sql
var statusSQL string

// variables are columns of pg_stat_database, pg_stat_wal and pg_stat_bgwriter, and the
// numbers of sessions that status.sql counts in pg_stat_activity. They include the
// collector's own transactions, about 13 per second.
var variables = sampling.Variables{
	Counters: []string{
		// this database
		"blk_read_time", "blk_write_time", "blks_hit", "blks_read", "conflicts", "deadlocks",
		"active_time", "idle_in_transaction_time", "session_time",
		"sessions", "sessions_abandoned", "sessions_fatal", "sessions_killed",
		"temp_bytes", "temp_files",
		"tup_deleted", "tup_fetched", "tup_inserted", "tup_returned", "tup_updated",
		"xact_commit", "xact_rollback",
		// the write-ahead log
		"wal_buffers_full", "wal_bytes", "wal_fpi", "wal_records", "wal_sync", "wal_sync_time", "wal_write", "wal_write_time",
		// checkpoints and pages written
		"buffers_alloc", "buffers_backend", "buffers_backend_fsync", "buffers_checkpoint", "buffers_clean",
		"checkpoint_sync_time", "checkpoint_write_time", "checkpoints_req", "checkpoints_timed", "maxwritten_clean",
	},
	Gauges: []string{"connections", "idle_in_transaction", "numbackends", "waiting_for_locks"},
	Unit:   unitOf,
}

// activeTime is the time of all sessions in statements and commits.
const activeTime = "active_time"

func unitOf(name string) string {
	switch name {
	case "blk_read_time", "blk_write_time", activeTime, "idle_in_transaction_time", "session_time",
		"wal_sync_time", "wal_write_time", "checkpoint_sync_time", "checkpoint_write_time":
		return "ms"
	case "temp_bytes", "wal_bytes":
		return "By"
	}
	return ""
}

// reading is one reading of the server's views.
type reading struct {
	started float64            // start of the server, unix seconds; it changes with a restart
	values  map[string]float64 // all numeric columns, by name
}

// readStatus reads the views. It adds a note if another run uses the server.
func (c *collector) readStatus(ctx context.Context) (reading, error) {
	r := reading{values: map[string]float64{}}
	err := c.link.query(ctx, statusSQL, []any{c.link.name}, func(rows pgx.Rows) error {
		var all map[string]any
		err := rows.Scan(&r.started, &all)
		for name, value := range all {
			if v, ok := value.(float64); ok {
				r.values[name] = v
			}
		}
		return err
	})
	if r.values["other_runs"] > 0 {
		c.notes.Add(sampling.SharedServer)
	}
	return r, err
}
