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
)

const (
	// limit is how long the server may work on one of the collector's statements; a
	// sample takes some milliseconds, so only an overloaded server meets it.
	limit = 500 * time.Millisecond
	// grace is what the answer may take on top before the connection is cut.
	grace = 250 * time.Millisecond
	// dial is how long connecting may take, with all that sets up the session.
	dial = time.Second
)

// runAttribute is the connection attribute that marks the sessions of a run's
// collector. Its value is an id of the collector.
const runAttribute = "assay_run"

// link is the collector's only connection. It never reconnects by itself: the
// collector must know, as session settings and gaps depend on it. Not safe for
// concurrent use.
type link struct {
	config *driver.Config
	schema string // that the DSN names
	id     string // of the run
	inRun  bool   // sessions carry the run attribute

	db      *sql.DB
	conn    *sql.Conn // nil: not connected
	flavour *flavour  // nil: never connected
	opened  bool      // was connected before
}

func newLink(dsn string) (*link, error) {
	c, err := Config(dsn)
	if err != nil {
		return nil, err
	}
	l := &link{config: c, schema: c.DBName, id: strings.ToLower(rand.Text())}
	// Without a schema the collector's own statements stay out of the load's digests.
	c.DBName = ""
	c.InterpolateParams = true // one round trip a statement
	c.MultiStatements = false
	c.Timeout = dial
	c.ReadTimeout, c.WriteTimeout = 2*time.Second, 2*time.Second // behind the deadlines below
	return l, nil
}

// joinRun marks the sessions from now on as those of a run, which other runs see.
// Until then the collector only describes or examines the server.
func (l *link) joinRun() {
	if !l.inRun {
		l.drop()
	}
	l.inRun = true
}

// open connects unless it is connected, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dial)
	defer cancel()
	c := l.config.Clone()
	c.ConnectionAttributes = "program_name:assay"
	if l.inRun {
		c.ConnectionAttributes += "," + runAttribute + ":" + l.id
	}
	connector, err := driver.NewConnector(c)
	if err != nil {
		return fmt.Errorf("parse DSN: %w", err)
	}
	l.db = sql.OpenDB(connector)
	if l.conn, err = l.db.Conn(ctx); err != nil {
		l.drop()
		return fmt.Errorf("connect: %w", err)
	}
	if err := l.prepare(ctx); err != nil {
		l.drop()
		return fmt.Errorf("set up session: %w", err)
	}
	if l.opened {
		l.killLost(ctx)
	}
	l.opened = true
	return nil
}

// killLost ends the sessions that this link has lost: the server may still execute
// their last statement, which must not pile up, nor switch on what is being
// restored. Errors are ignored.
func (l *link) killLost(ctx context.Context) {
	const lost = "SELECT PROCESSLIST_ID FROM performance_schema.session_connect_attrs" +
		" WHERE ATTR_NAME = '" + runAttribute + "' AND ATTR_VALUE = ? AND PROCESSLIST_ID <> CONNECTION_ID() LIMIT 1"
	for range 10 {
		var session int64
		if err := l.conn.QueryRowContext(ctx, lost, l.id).Scan(&session); err != nil {
			return // none left, as a rule
		}
		_, _ = l.conn.ExecContext(ctx, fmt.Sprintf("KILL %d", session))
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// prepare sets the session up.
func (l *link) prepare(ctx context.Context) error {
	var version string
	if err := l.conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	l.flavour = flavourOf(version)
	for _, statement := range []string{
		fmt.Sprintf(l.flavour.timeout, limit.Milliseconds()),
		"SET SESSION autocommit = 1",
		// LAST_SEEN must compare with NOW() also in the hour that a zone has twice.
		"SET SESSION time_zone = '+00:00'",
		"SET SESSION lock_wait_timeout = 1",
	} {
		if _, err := l.conn.ExecContext(ctx, statement); err != nil && !is(err, code.ER_UNKNOWN_SYSTEM_VARIABLE, code.ER_SPECIFIC_ACCESS_DENIED_ERROR) {
			return err
		}
	}
	// The collector's own statements should not show in what it measures. Where the
	// user may not change this, the filters of the queries keep them out.
	_, err := l.conn.ExecContext(ctx, "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()")
	if broken(err) {
		return err
	}
	return nil
}

const (
	// setupLock is a user-level lock of the server (GET_LOCK), under which collectors
	// start and end one at a time: of two that end at once the second sees that it is
	// the last, and none restores what another has just found switched on. The server
	// releases it when the session ends.
	setupLock     = "assay instruments"
	lockTimeout   = 2 * time.Second // then the collector goes on without
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
			slog.Debug("database collector goes on without the setup lock", "err", err)
			return
		}
		time.Sleep(retryInterval)
	}
}

// unlock releases the setup lock.
func (l *link) unlock(ctx context.Context) {
	_ = l.exec(ctx, "DO RELEASE_LOCK(?)", setupLock) // a session that is lost holds none
}

// query runs one statement and calls each for every row; rows are read to the
// end. It takes limit plus grace at most, then the connection is cut.
func (l *link) query(ctx context.Context, statement string, args []any, each func(*sql.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	rows, err := l.conn.QueryContext(ctx, statement, args...)
	if err != nil {
		return l.after(err)
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			_ = rows.Close()
			return err
		}
	}
	err = rows.Err()
	_ = rows.Close()
	return l.after(err)
}

// number runs a query that returns one number.
func (l *link) number(ctx context.Context, query string) (v float64, err error) {
	err = l.query(ctx, query, nil, func(rows *sql.Rows) error { return rows.Scan(&v) })
	return v, err
}

// exec runs one statement that returns no rows.
func (l *link) exec(ctx context.Context, statement string, args ...any) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	_, err := l.conn.ExecContext(ctx, statement, args...)
	return l.after(err)
}

// after drops a connection that an error has made useless.
func (l *link) after(err error) error {
	if broken(err) {
		l.drop()
	}
	return err
}

// drop disconnects.
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

// broken reports whether the connection is of no use after this error. Three errors
// end it although they come as an answer.
func broken(err error) bool {
	if _, answered := serverError(err); answered {
		return is(err, code.ER_SERVER_SHUTDOWN, errKilledMariaDB, errIdle)
	}
	return err != nil // time-out, closed, malformed
}
