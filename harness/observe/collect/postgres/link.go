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
	// limit is how long the server may work on one of the collector's statements; a
	// sample takes a millisecond, so only an overloaded server meets it.
	limit = 500 * time.Millisecond
	// grace is what the answer may take on top before the connection is cut,
	// and the server is told to cancel the statement.
	grace = 250 * time.Millisecond
	// dial is how long connecting may take, with all that sets up the session.
	dial = time.Second
)

// link is the collector's only connection. It never reconnects by itself: the
// collector must know of gaps. Not safe for concurrent use.
type link struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn // nil: not connected
	name   string    // application_name
	spent  time.Duration
}

func newLink(dsn string) (*link, error) {
	_, config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = dial
	l := &link{config: config}
	l.setName("assay run " + strings.ToLower(rand.Text()[:12]))
	return l, nil
}

// setName names the sessions from now on: by their names runs see each other.
func (l *link) setName(name string) {
	l.name = name
	l.config.RuntimeParams["application_name"] = name
}

// open connects unless it is connected, and sets the session up.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dial)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return unconnected{err}
	}
	settings := []string{
		fmt.Sprintf("SET statement_timeout = %d", limit.Milliseconds()),
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

// unconnected is an error of connecting in one line: the driver gives one for each
// address, with and without TLS.
type unconnected struct{ error }

func (e unconnected) Error() string {
	lines := strings.Split(strings.TrimSpace(e.error.Error()), "\n")
	return "connect: " + strings.TrimSpace(lines[len(lines)-1])
}

func (e unconnected) Unwrap() error { return e.error }

// majorOf is the major version of the server; 0: not known.
func majorOf(conn *pgx.Conn) int {
	version, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	digits, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz")) // 19beta1
	return major
}

// query runs one statement and calls each for every row; rows are read to the
// end. It takes limit plus grace at most, then the connection is cut.
func (l *link) query(ctx context.Context, statement string, args []any, each func(pgx.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	begin := time.Now()
	defer func() { l.spent += time.Since(begin) }()
	rows, err := l.conn.Query(ctx, statement, args...)
	if err != nil {
		return l.after(err)
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			rows.Close()
			return l.after(err)
		}
	}
	rows.Close()
	return l.after(rows.Err())
}

// after drops a connection that the driver has closed.
func (l *link) after(err error) error {
	if err != nil && l.conn.IsClosed() {
		l.drop()
	}
	return err
}

func (l *link) drop() {
	if l.conn == nil {
		return
	}
	// The server is told; without an answer the connection is closed all the same.
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = l.conn.Close(ctx)
	l.conn = nil
}
