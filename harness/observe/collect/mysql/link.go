package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/metric"
)

const (
	// statementTimeout bounds the execution of one of the collector's statements on the
	// server. A sample takes a few milliseconds, so only an overloaded server reaches it.
	statementTimeout = 500 * time.Millisecond
	// grace is how much longer the response may take before the connection is closed.
	grace = 250 * time.Millisecond
	// connectTimeout bounds connecting, including the setup of the session.
	connectTimeout = time.Second
)

// runAttribute is the connection attribute that marks the sessions of a run's
// collector. Its value is the collector's id.
const runAttribute = "assay_run"

// link is the collector's only connection. It never reconnects by itself, because the
// collector must record the gap and set up the new session. Not safe for concurrent
// use.
type link struct {
	config *driver.Config
	schema string // of the DSN; empty: none
	id     string // of the collector
	inRun  bool   // new sessions carry the run attribute

	db      *sql.DB
	conn    *sql.Conn // nil: not connected
	flavour *flavour  // nil: never connected
	opened  bool      // was connected before
}

func newLink(dsn string) (*link, error) {
	c, err := ownConfig(dsn)
	if err != nil {
		return nil, err
	}
	l := &link{config: c, schema: c.DBName, id: strings.ToLower(rand.Text())}
	// Without a schema the collector's own statements stay out of the load's digests.
	c.DBName = ""
	c.InterpolateParams = true // one round trip per statement
	c.MultiStatements = false
	c.Timeout = connectTimeout
	c.ReadTimeout, c.WriteTimeout = 2*time.Second, 2*time.Second // longer than the deadlines below, which apply first
	return l, nil
}

// joinRun marks all later sessions as those of a run, so that other runs see them.
// Before that the collector only describes or examines the server.
func (l *link) joinRun() {
	if !l.inRun {
		l.drop()
	}
	l.inRun = true
}

// open connects, unless the link is connected already, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := l.config.Clone()
	c.ConnectionAttributes = "program_name:assay"
	if l.inRun {
		c.ConnectionAttributes += "," + runAttribute + ":" + l.id
	}
	l.db = sql.OpenDB(connector{c})
	var err error
	if l.conn, err = l.db.Conn(ctx); err != nil {
		l.drop()
		return fmt.Errorf("connect: %w", err)
	}
	if err := l.setUpSession(ctx); err != nil {
		l.drop()
		return fmt.Errorf("set up session: %w", err)
	}
	if l.opened {
		if err := l.killLost(ctx); err != nil {
			l.drop()
			return fmt.Errorf("end lost sessions: %w", err)
		}
	}
	l.opened = true
	return nil
}

// killLost kills the sessions that this link has lost. The server may still execute
// their last statements, which must neither pile up nor enable instruments while they
// are being restored. Only an error that breaks the connection is returned.
func (l *link) killLost(ctx context.Context) error {
	const lost = "SELECT PROCESSLIST_ID FROM performance_schema.session_connect_attrs" +
		" WHERE ATTR_NAME = '" + runAttribute + "' AND ATTR_VALUE = ? AND PROCESSLIST_ID <> CONNECTION_ID() LIMIT 1"
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	for range 10 {
		var session int64
		err := l.conn.QueryRowContext(ctx, lost, l.id).Scan(&session)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			_, err = l.conn.ExecContext(ctx, fmt.Sprintf("KILL %d", session))
		}
		if broken(err) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (l *link) setUpSession(ctx context.Context) error {
	var version string
	if err := l.conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	l.flavour = flavourOf(version)
	for _, statement := range []string{
		fmt.Sprintf(l.flavour.timeout, statementTimeout.Milliseconds()),
		"SET SESSION autocommit = 1",
		// LAST_SEEN must be comparable with NOW() also in the hour that daylight saving
		// repeats.
		"SET SESSION time_zone = '+00:00'",
		"SET SESSION lock_wait_timeout = 1",
	} {
		if _, err := l.conn.ExecContext(ctx, statement); err != nil && !is(err, code.ER_UNKNOWN_SYSTEM_VARIABLE, code.ER_SPECIFIC_ACCESS_DENIED_ERROR) {
			return err
		}
	}
	// The collector should not measure its own statements. Where the user may not change
	// this, filters in the queries exclude them.
	_, err := l.conn.ExecContext(ctx, "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()")
	if broken(err) {
		return err
	}
	return nil
}

const (
	// setupLock is a user-level lock of the server (GET_LOCK) that serialises the start
	// and end of collectors: of two that end at the same time the second sees that it is
	// the last one, and none disables instruments that another has just found enabled.
	// The server releases the lock when the session ends.
	setupLock = "assay instruments"
	// lockTimeout is longer than several collectors in turn need, each of which may wait for
	// endingTimeout. After it the collector continues without the lock.
	lockTimeout   = 12 * time.Second
	retryInterval = 20 * time.Millisecond
)

// lock acquires the setup lock.
func (l *link) lock(ctx context.Context) {
	for deadline := time.Now().Add(lockTimeout); ; {
		var got sql.NullInt64
		err := l.query(ctx, "SELECT GET_LOCK(?, 0)", []any{setupLock}, func(rows *sql.Rows) error { return rows.Scan(&got) })
		if got.Int64 == 1 {
			return
		}
		if err != nil || time.Now().After(deadline) {
			slog.Debug("database collector continues without the setup lock", "err", err)
			return
		}
		time.Sleep(retryInterval)
	}
}

// unlock releases the setup lock.
func (l *link) unlock(ctx context.Context) {
	_ = l.exec(ctx, "DO RELEASE_LOCK(?)", setupLock) // a lost session holds no lock
}

// query runs one statement and calls each for every row. After statementTimeout plus
// grace it closes the connection.
func (l *link) query(ctx context.Context, statement string, args []any, each func(*sql.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout+grace)
	defer cancel()
	rows, err := l.conn.QueryContext(ctx, statement, args...)
	if err != nil {
		return l.dropIfBroken(err)
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			_ = rows.Close()
			return err
		}
	}
	err = rows.Err()
	_ = rows.Close()
	return l.dropIfBroken(err)
}

func (l *link) queryNumber(ctx context.Context, query string) (v float64, err error) {
	err = l.query(ctx, query, nil, func(rows *sql.Rows) error { return rows.Scan(&v) })
	return v, err
}

// exec runs one statement that returns no rows.
func (l *link) exec(ctx context.Context, statement string, args ...any) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout+grace)
	defer cancel()
	_, err := l.conn.ExecContext(ctx, statement, args...)
	return l.dropIfBroken(err)
}

// roundTrip measures a ping, which the server answers without a statement. No points: it
// was not answered.
func (l *link) roundTrip(ctx context.Context) []metric.Point {
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout+grace)
	defer cancel()
	begin := time.Now()
	if err := l.conn.PingContext(ctx); err != nil {
		_ = l.dropIfBroken(err)
		return nil
	}
	h := &metric.Hist{}
	h.Record(float64(time.Since(begin))/float64(time.Millisecond), 1)
	return []metric.Point{metric.HistPoint(metric.Of(metric.NetworkRoundTrip, "path", metric.SourceDatabase), h)}
}

// dropIfBroken disconnects if the error means that the connection is unusable. It returns
// the error, marked by Deadline.
func (l *link) dropIfBroken(err error) error {
	if broken(err) {
		l.drop()
	}
	return dialect.Deadline(err)
}

func (l *link) drop() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
	}
}

// broken reports whether the connection is unusable after this error. Of the errors that
// the server returns, three end the connection.
func broken(err error) bool {
	if _, answered := serverError(err); answered {
		return is(err, code.ER_SERVER_SHUTDOWN, errKilledMariaDB, errIdle)
	}
	return err != nil // time-out, closed, malformed
}
