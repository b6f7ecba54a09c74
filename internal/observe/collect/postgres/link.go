package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/database"
)

const (
	// statementTimeout bounds the execution of one of the collector's statements on the
	// server. A sample takes a millisecond, so only an overloaded server reaches it.
	statementTimeout = 500 * time.Millisecond
	// grace is how much longer the response may take before the connection is closed and
	// the server is asked to cancel the statement.
	grace = 250 * time.Millisecond
	// connectTimeout bounds connecting, including a look at who answers.
	connectTimeout = time.Second
)

// link is the collector's only connection. It never reconnects by itself, because the
// collector must record the gap. Not safe for concurrent use.
type link struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn     // nil: not connected
	name   string        // application_name of its sessions, by which runs see each other
	spent  time.Duration // in the collector's own statements, since it was last reset
}

func newLink(dsn string) (*link, error) {
	_, config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectTimeout
	// One message of the protocol for each statement, which a log takes as one entry, and
	// no prepared statement.
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	maps.Copy(config.RuntimeParams, meaning) // the driver quotes arguments by some of it
	maps.Copy(config.RuntimeParams, map[string]string{
		"statement_timeout":             strconv.FormatInt(statementTimeout.Milliseconds(), 10),
		"search_path":                   "pg_catalog",
		"default_transaction_read_only": "on",
	})
	return &link{config: config, name: ownName + " run " + strings.ToLower(rand.Text()[:12])}, nil
}

// open connects, unless the link is connected already.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := connector{l.config, &database.Intake{}, l.name}.connect(ctx)
	if err != nil {
		return err
	}
	l.conn = conn.Conn()
	return nil
}

// restart replaces the connection by one with these parameters in addition, which later
// ones have too. It keeps the present one if the server refuses another.
func (l *link) restart(ctx context.Context, parameters map[string]string) {
	next := &link{config: l.config.Copy(), name: l.name, spent: l.spent}
	maps.Copy(next.config.RuntimeParams, parameters)
	if err := next.open(ctx); err != nil {
		slog.Debug("database collector keeps its first session", "err", err)
		return
	}
	l.drop()
	*l = *next
}

// majorOf returns the major version of the server; 0: unknown.
func majorOf(conn *pgx.Conn) (major int) {
	_, _ = fmt.Sscanf(conn.PgConn().ParameterStatus("server_version"), "%d", &major) // of 19beta1, too
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
	rows, err := l.conn.Query(ctx, oneLine(statement), args...)
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

// oneLine is a statement without its comments, but for the first: whoever logs it logs one
// short line.
func oneLine(statement string) string {
	var all []string
	for line := range strings.Lines(statement) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--") {
			all = append(all, line)
		}
	}
	return strings.Join(all, " ")
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
