package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/database"
)

const (
	// limit is how long the server may work on one of our statements; a sample
	// takes some milliseconds, so this is met only by a server in distress.
	limit = 500 * time.Millisecond
	// grace is what the answer may take on top before the connection is cut.
	grace = 250 * time.Millisecond
	// dial is how long connecting may take, with all that sets up the session.
	dial = time.Second
)

// idAttribute is the connection attribute that holds a link's id.
const idAttribute = "assay_link"

// Errors of the servers that we act on. The first three of them end the
// connection, although they come as an answer.
const (
	errShutdown      = 1053 // server shutdown in progress
	errKilledMaria   = 1927 // connection was killed
	errIdle          = 4031 // disconnected because of inactivity
	errDBDenied      = 1044
	errDenied        = 1045
	errTableDenied   = 1142
	errColumnDenied  = 1143
	errPrivilege     = 1227 // such as INNODB_METRICS without PROCESS
	errNoSuchTable   = 1146
	errPSUnwritable  = 1683 // performance_schema row or table that cannot be changed
	errUnknownSysVar = 1193
)

// link is the collector's only connection. It never reconnects by itself: the
// owner must know, as session settings and gaps depend on it. Not safe for
// concurrent use.
type link struct {
	cfg     *driver.Config
	db      *sql.DB
	conn    *sql.Conn // nil: not connected
	id      string    // tells the server's sessions of this link from all others
	promise string    // that its sessions carry: see peers.go
	beside  *sql.DB   // for connections that are not the link's

	maria  bool // known after the first open
	opened bool // was connected before
}

func newLink(dsn string) (*link, error) {
	cfg, err := database.Config(dsn)
	if err != nil {
		return nil, err
	}
	// Without a schema our own statements stay out of the load's digests.
	cfg.DBName = ""
	cfg.InterpolateParams = true // one round trip a statement
	cfg.MultiStatements = false
	cfg.Timeout = dial
	cfg.ReadTimeout, cfg.WriteTimeout = 2*time.Second, 2*time.Second // behind the deadlines below
	l := &link{cfg: cfg, id: strings.ToLower(rand.Text())}
	if l.db, err = l.pool("program_name:assay," + idAttribute + ":" + l.id); err != nil {
		return nil, err
	}
	l.beside, err = l.pool("program_name:assay-aside")
	return l, err
}

// pool is one of connections with these attributes.
func (l *link) pool(attributes string) (*sql.DB, error) {
	cfg := l.cfg.Clone()
	cfg.ConnectionAttributes = attributes
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("parse DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(-1) // closing a connection closes it, instead of keeping it
	return db, nil
}

// open connects unless it is connected, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dial)
	defer cancel()
	conn, err := l.session(ctx, l.db)
	if err != nil {
		return err
	}
	if l.opened {
		l.sweep(ctx, conn)
	}
	l.conn, l.opened = conn, true
	return nil
}

// session makes a connection that is set up.
func (l *link) session(ctx context.Context, from *sql.DB) (*sql.Conn, error) {
	conn, err := from.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := l.prepare(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("set up session: %w", err)
	}
	return conn, nil
}

// hide lets the link's sessions carry no id: other runs then do not take them for
// those of one.
func (l *link) hide() { l.db, l.beside = l.beside, l.db }

// publish lets the link's sessions carry a promise, from now on: a new session
// takes the place of the old one, which is kept where there is no new one to be
// had.
func (l *link) publish(ctx context.Context, promise string) error {
	if promise == l.promise {
		return nil
	}
	db, err := l.pool("program_name:assay," + idAttribute + ":" + l.id + "," + promiseAttribute + ":" + promise)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dial)
	defer cancel()
	conn, err := l.session(ctx, db)
	if err != nil {
		_ = db.Close()
		return err
	}
	l.drop()
	_ = l.db.Close()
	l.db, l.conn, l.promise = db, conn, promise
	l.sweep(ctx, conn) // also of a statement that the old session still works on
	return nil
}

// sweep ends the sessions of this link that it has given up: the server may
// still work on their last statement, which must not pile up, nor switch on
// what is being restored. It does what it can.
func (l *link) sweep(ctx context.Context, conn *sql.Conn) {
	const left = "SELECT PROCESSLIST_ID FROM performance_schema.session_connect_attrs" +
		" WHERE ATTR_NAME = '" + idAttribute + "' AND ATTR_VALUE = ? AND PROCESSLIST_ID <> CONNECTION_ID() LIMIT 1"
	for range 10 {
		var session int64
		if err := conn.QueryRowContext(ctx, left, l.id).Scan(&session); err != nil {
			return // none left, as a rule
		}
		_, _ = conn.ExecContext(ctx, fmt.Sprintf("KILL %d", session))
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (l *link) prepare(ctx context.Context, conn *sql.Conn) error {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	l.maria = isMariaDB(version)
	bound := fmt.Sprintf("SET SESSION max_execution_time = %d", limit.Milliseconds())
	if l.maria {
		bound = fmt.Sprintf("SET SESSION max_statement_time = %g", limit.Seconds())
	}
	for _, statement := range []string{
		bound,
		"SET SESSION autocommit = 1",
		// LAST_SEEN must compare with NOW() also in the hour that a zone has twice.
		"SET SESSION time_zone = '+00:00'",
		"SET SESSION lock_wait_timeout = 1",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil && !is(err, errUnknownSysVar, errPrivilege) {
			return err
		}
	}
	// Our own statements should not show in what we measure. Where we may not
	// say so, the filters of the queries do.
	_, err := conn.ExecContext(ctx, "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()")
	if broken(err) {
		return err
	}
	return nil
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

// after gives a connection up that an error has made useless.
func (l *link) after(err error) error {
	if broken(err) {
		l.drop()
	}
	return err
}

func (l *link) drop() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

func (l *link) close() {
	l.drop()
	_ = l.db.Close()
	_ = l.beside.Close()
}

// broken reports whether the connection is of no use after this error.
func broken(err error) bool {
	if err == nil {
		return false
	}
	var answer *driver.MySQLError
	if errors.As(err, &answer) {
		return is(err, errShutdown, errKilledMaria, errIdle)
	}
	return true // time-out, closed, malformed
}

// is reports whether the server answered with one of these errors.
func is(err error, numbers ...uint16) bool {
	var answer *driver.MySQLError
	if !errors.As(err, &answer) {
		return false
	}
	for _, n := range numbers {
		if answer.Number == n {
			return true
		}
	}
	return false
}

// denied reports whether an error is about missing rights.
func denied(err error) bool {
	return is(err, errDBDenied, errDenied, errTableDenied, errColumnDenied, errPrivilege, errPSUnwritable)
}
