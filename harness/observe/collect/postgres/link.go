package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// statementTimeout bounds the execution of one of the collector's statements on the
	// server. A sample takes a millisecond, so only an overloaded server reaches it.
	statementTimeout = 500 * time.Millisecond
	// grace is how much longer the response may take before the connection is closed and
	// the server is asked to cancel the statement.
	grace = 250 * time.Millisecond
	// connectTimeout bounds connecting, including the setup of the session.
	connectTimeout = time.Second
)

// link is the collector's only connection. It never reconnects by itself, because the
// collector must record the gap. Not safe for concurrent use.
type link struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn     // nil: not connected
	name   string        // application_name
	spent  time.Duration // in the collector's own statements, since it was last reset
}

func newLink(dsn string) (*link, error) {
	_, config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectTimeout
	l := &link{config: config}
	l.setName("assay run " + strings.ToLower(rand.Text()[:12]))
	return l, nil
}

// setName sets the name of all later sessions, by which runs see each other.
func (l *link) setName(name string) {
	l.name = name
	l.config.RuntimeParams["application_name"] = name
}

// open connects, unless the link is connected already, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return connectError{err}
	}
	settings := []string{
		fmt.Sprintf("SET statement_timeout = %d", statementTimeout.Milliseconds()),
		"SET idle_in_transaction_session_timeout = 0",
		"SET search_path = pg_catalog",
		"SET default_transaction_read_only = on",
	}
	if majorOf(conn) >= oldest {
		settings = append(settings, "SET idle_session_timeout = 0")
	}
	if err := conn.PgConn().Exec(ctx, strings.Join(settings, "; ")).Close(); err != nil {
		l.conn = conn
		l.drop()
		return fmt.Errorf("set up session: %w", err)
	}
	l.conn = conn
	return nil
}

// connectError is a failed connection as one line: the driver's error has one line per
// address, with and without TLS.
type connectError struct{ error }

func (e connectError) Error() string {
	lines := strings.Split(strings.TrimSpace(e.error.Error()), "\n")
	return "connect: " + strings.TrimSpace(lines[len(lines)-1])
}

func (e connectError) Unwrap() error { return e.error }

// majorOf returns the major version of the server; 0: unknown.
func majorOf(conn *pgx.Conn) int {
	version, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	digits, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz")) // 19beta1
	return major
}

// query runs one statement and calls each for every row. After statementTimeout plus
// grace it closes the connection.
func (l *link) query(ctx context.Context, statement string, args []any, each func(pgx.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout+grace)
	defer cancel()
	begin := time.Now()
	defer func() { l.spent += time.Since(begin) }()
	rows, err := l.conn.Query(ctx, statement, args...)
	if err != nil {
		return l.dropIfClosed(err)
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			rows.Close()
			return l.dropIfClosed(err)
		}
	}
	rows.Close()
	return l.dropIfClosed(rows.Err())
}

// dropIfClosed disconnects if the driver has closed the connection. It returns the error,
// marked by Deadline.
func (l *link) dropIfClosed(err error) error {
	if err != nil && l.conn.IsClosed() {
		l.drop()
	}
	return dialect.Deadline(err)
}

func (l *link) drop() {
	if l.conn == nil {
		return
	}
	// Close tells the server. Without a response it closes the connection anyway.
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = l.conn.Close(ctx)
	l.conn = nil
}
