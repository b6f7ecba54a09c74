package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

// changeTimeout bounds what is executed once, and changes what the server measures. A
// server without CPU takes its time for it.
const changeTimeout = 3 * time.Second

// sessionSettings set up a session of either flavour, beside what all sessions have
// (connect.go). Further settings are those of the flavour (driver.go).
const sessionSettings = "SET SESSION lock_wait_timeout = 1, long_query_time = 31536000," +
	// A client that is gone without a trace, as when its machine lost power, must not be taken
	// for a run for hours. A collector is never idle for so long.
	" wait_timeout = 600"

// link is the collector's only connection. It never reconnects by itself, because the
// collector must record the gap and set up the new session. Not safe for concurrent
// use.
type link struct {
	config *driver.Config
	schema string // schema in the DSN; empty: none
	id     string // random ID of the collector

	db      *sql.DB
	conn    *sql.Conn         // nil: not connected
	places  map[string]string // the locks that show other runs this one, by kind
	flavour *flavour          // nil: never connected
}

func newLink(dsn string) (*link, error) {
	c, err := ownConfig(dsn)
	if err != nil {
		return nil, err
	}
	l := &link{config: c, schema: c.DBName, id: strings.ToLower(rand.Text()), places: map[string]string{}}
	// Without a schema the collector's own statements stay out of the load's digests.
	c.DBName = ""
	c.InterpolateParams = true // one round trip per statement
	c.MultiStatements = false
	c.ConnectionAttributes = "program_name:assay"
	c.Timeout = sampling.ConnectTimeout
	c.ReadTimeout, c.WriteTimeout = 4*time.Second, 4*time.Second // longer than the deadlines below, which apply first
	return l, nil
}

// open connects, unless the link is connected already, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sampling.ConnectTimeout)
	defer cancel()
	var err error
	l.db = sql.OpenDB(connector{l.config, &database.Intake{}})
	if l.conn, err = l.db.Conn(ctx); err != nil {
		l.drop()
		return fmt.Errorf("connect: %w", err)
	}
	if err := l.setUpSession(ctx); err != nil {
		l.drop()
		return fmt.Errorf("set up session: %w", err)
	}
	if err := l.killLost(ctx); err != nil {
		l.drop()
		return fmt.Errorf("end lost sessions: %w", err)
	}
	return nil
}

// killLost kills the session that this link has lost, if any. The server may still execute
// its last statement, which must neither pile up nor enable instruments while they are being
// restored. Only an error that breaks the connection is returned.
func (l *link) killLost(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sampling.ConnectTimeout)
	defer cancel()
	for range 10 {
		var got, lost sql.NullInt64
		err := l.conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0), IS_USED_LOCK(?)", ownLock+l.id, ownLock+l.id).Scan(&got, &lost)
		if err == nil && got.Int64 != 1 && lost.Valid {
			_, err = l.conn.ExecContext(ctx, fmt.Sprintf("KILL %d", lost.Int64))
		}
		if broken(err) {
			return err
		}
		if got.Int64 == 1 || refused(err) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (l *link) setUpSession(ctx context.Context) error {
	set := func(statement string) error {
		_, err := l.conn.ExecContext(ctx, statement)
		if is(err, code.ER_UNKNOWN_SYSTEM_VARIABLE, code.ER_SPECIFIC_ACCESS_DENIED_ERROR) {
			return nil
		}
		return err
	}
	if err := set(sessionSettings); err != nil {
		return err
	}
	var version string
	if err := l.conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	l.flavour = flavourOf(version)
	// The collector should neither measure nor log its own statements. Where the user may not
	// change this, filters in the queries exclude them, and an examination says so.
	for _, statement := range l.flavour.session {
		if err := set(statement); err != nil {
			return err
		}
	}
	_, err := l.conn.ExecContext(ctx, "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()")
	if broken(err) {
		return err
	}
	return nil
}

// query runs one statement and calls each for every row. After sampling.StatementTimeout plus
// grace it closes the connection.
func (l *link) query(ctx context.Context, statement string, args []any, each func(*sql.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, sampling.StatementTimeout+sampling.Grace)
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

// orZero scans a column into a value, NULL as its zero value.
func orZero[T any](into *T) sql.Scanner { return nullable[T]{into} }

type nullable[T any] struct{ into *T }

// Scan scans.
func (n nullable[T]) Scan(v any) error {
	var null sql.Null[T]
	err := null.Scan(v)
	*n.into = null.V
	return err
}

// pairs adds the rows of a query for names and values to a map.
func (l *link) pairs(ctx context.Context, into map[string]string, statement string, args ...any) error {
	return l.query(ctx, statement, args, func(rows *sql.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		into[name] = value
		return err
	})
}

// values reads the only column of a query's rows.
func values[T any](ctx context.Context, l *link, statement string, args ...any) (all []T, err error) {
	err = l.query(ctx, statement, args, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(orZero(&v))
		all = append(all, v)
		return err
	})
	return all, err
}

// value reads the only column of a query's only row; zero if it has none.
func value[T any](ctx context.Context, l *link, statement string, args ...any) (v T, err error) {
	all, err := values[T](ctx, l, statement, args...)
	if len(all) > 0 {
		v = all[0]
	}
	return v, err
}

// exec runs one statement that changes something, and returns no rows.
func (l *link) exec(ctx context.Context, statement string, args ...any) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout+sampling.Grace)
	defer cancel()
	_, err := l.conn.ExecContext(ctx, l.flavour.change+statement, args...)
	return l.dropIfBroken(err)
}

// roundTrip measures a ping, which the server answers without a statement. No points: it
// was not answered.
func (l *link) roundTrip(ctx context.Context) []metric.Point {
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sampling.StatementTimeout+sampling.Grace)
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
		clear(l.places)
	}
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
	}
}

// refused reports whether the server has answered that it does not do this, for whatever
// reason: the session goes on without it.
func refused(err error) bool {
	_, answered := serverError(err)
	return answered && !broken(err) && !dialect.Is(err, database.Timeout)
}

// broken reports whether the connection is unusable after this error. Only three of the
// errors that the server returns end the connection.
func broken(err error) bool {
	if _, answered := serverError(err); answered {
		return is(err, code.ER_SERVER_SHUTDOWN, errKilledMariaDB, errIdle)
	}
	return err != nil // time-out, closed, malformed
}
