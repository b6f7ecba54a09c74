package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
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
	config.ConnectTimeout = sampling.ConnectTimeout
	// One message of the protocol for each statement, which a log takes as one entry, and
	// no prepared statement.
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	maps.Copy(config.RuntimeParams, meaning) // the driver quotes arguments by some of it
	maps.Copy(config.RuntimeParams, map[string]string{
		"statement_timeout":             strconv.FormatInt(sampling.StatementTimeout.Milliseconds(), 10),
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
	ctx, cancel := context.WithTimeout(ctx, sampling.ConnectTimeout)
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
	// Sscanf also reads the major version of 19beta1.
	_, _ = fmt.Sscanf(conn.PgConn().ParameterStatus("server_version"), "%d", &major)
	return major
}

// query runs one statement and calls each for every row. After sampling.StatementTimeout plus
// grace it closes the connection.
func (l *link) query(ctx context.Context, statement string, args []any, each func(pgx.Rows) error) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(ctx, sampling.StatementTimeout+sampling.Grace)
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
	ctx, cancel := context.WithTimeout(context.Background(), sampling.Grace)
	defer cancel()
	_ = l.conn.Close(ctx)
	l.conn = nil
}

const (
	// identity is a parameter that every connection begins with, its value unique to it.
	// Servers take any parameter whose name has a point, and do nothing with it.
	identity = "assay.connection"
	// maxMessage bounds a message of the server, as a row of a ledger. Without a bound, one
	// message of a server of another protocol could take all memory.
	maxMessage = 64 << 20
)

// connector opens connections that end at the server itself: a pooler is refused. Settings
// are startup parameters that a pooler refuses, ignores, or gives to no other client. What is
// none of these is set once no pooler answers.
type connector struct {
	config *pgx.ConnConfig
	intake *database.Intake
	name   string // application_name, which a pooler leaves on a connection that it keeps
}

func (connector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn{opened}, nil
}

// conn is a connection whose Close waits until a statement that was given up is cancelled in
// the server, which the driver does in a goroutine: the process may end with its last Close.
type conn struct{ *stdlib.Conn }

func (c conn) Close() error {
	err := c.Conn.Close()
	select {
	case <-c.Conn.Conn().PgConn().CleanupDone():
	case <-time.After(database.ConnectTimeout):
	}
	return err
}

func (c connector) connect(ctx context.Context) (_ *stdlib.Conn, err error) {
	defer foreign.Guard(&err)
	heard := database.Heard{Intake: c.intake}
	config := c.config.Copy()
	config.DialFunc = heard.Dial(config.DialFunc)
	config.MaxProtocolMessageBodyLen = maxMessage
	config.RuntimeParams[identity] = rand.Text()
	err = database.CheckAddress(config.Host)
	for _, f := range config.Fallbacks { // a DSN may name several
		err = cmp.Or(err, database.CheckAddress(f.Host))
	}
	if err != nil {
		return nil, err
	}
	opened, err := stdlib.GetConnector(*config).Connect(ctx)
	if err != nil {
		return nil, connectError{dialect.Explain(refusal(err), &heard)}
	}
	conn := opened.(*stdlib.Conn)
	if err = direct(ctx, conn.Conn()); err == nil {
		err = settle(ctx, conn.Conn(), c.name)
	}
	if err != nil {
		_ = conn.Close() // nothing was done
		return nil, dialect.Explain(err, &heard)
	}
	heard.Accept()
	return conn, nil
}

// refusal recognises PgBouncer, which takes the startup parameters alone that it keeps for
// each client, or that it was told to ignore. It refuses before it has assigned a
// connection of the server. Its admin console, a database of its own, takes no SQL.
func refusal(err error) error {
	var e *pgconn.PgError
	switch {
	case !errors.As(err, &e):
	case strings.HasPrefix(e.Message, "unsupported startup parameter"):
		return database.Pooler("PgBouncer", "it says "+strconv.Quote(e.Message))
	case strings.HasSuffix(e.Message, "use SHOW HELP;"):
		return database.Pooler("PgBouncer", "its admin console answers")
	}
	return err
}

const whoSQL = ownPrefix + " SELECT pg_backend_pid(), coalesce(current_setting('" + identity + "', true), ''), coalesce(inet_client_port(), 0)"

// direct refuses a pooler: the session that executes statements is not the one that this
// connection began, or a pooler says so itself. A proxy that only forwards bytes, as HAProxy
// in TCP mode does, begins a session of the server's for each connection.
func direct(ctx context.Context, conn *pgx.Conn) error {
	const unnamed = "such as PgBouncer, Odyssey or RDS Proxy"
	simple := pgx.QueryExecModeSimpleProtocol
	var session uint32
	var began string
	var port int
	if err := conn.QueryRow(ctx, whoSQL, simple).Scan(&session, &began, &port); err != nil {
		return database.Unidentified(refusal(err))
	}
	switch told := conn.PgConn().PID(); {
	case session != told:
		return database.Pooler(unnamed, fmt.Sprintf("the connection began as session %d, and session %d answers", told, session))
	case began != conn.Config().RuntimeParams[identity]:
		return database.Pooler(unnamed, "the session that answers did not begin with this connection's parameters")
	}
	// Pgpool-II passes on what tells sessions apart. A server that sees this end's own port
	// has nothing between.
	if local, ok := conn.PgConn().Conn().LocalAddr().(*net.TCPAddr); ok && local.Port == port {
		return nil
	}
	var version string
	if err := conn.QueryRow(ctx, "SHOW pool_version", simple).Scan(&version); err != nil {
		return nil // as a server answers: it has no such parameter
	}
	return database.Pooler("Pgpool-II", "it answers SHOW pool_version with "+version)
}

// settle names the session, has it read times in UTC, lifts the limit on the time of a
// transaction, and has the server end a statement whose client is gone, the last two unless the
// DSN names these settings. They cannot be startup parameters: a server refuses those that it
// does not know, and takes the time zone of one for its own (reset_val).
func settle(ctx context.Context, conn *pgx.Conn, name string) error {
	statement := ownPrefix + " SELECT set_config('application_name', '" + name + "', false), set_config('timezone', 'UTC', false)"
	const limit, watch = "transaction_timeout", "client_connection_check_interval"
	given := conn.Config().RuntimeParams
	if !names(given, limit) && majorOf(conn) >= 17 {
		statement += ", set_config('" + limit + "', '0', false)"
	}
	if _, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("set up session: %w", err)
	}
	if !names(given, watch) { // some systems cannot
		_, _ = conn.Exec(ctx, ownPrefix+" SELECT set_config('"+watch+"', '1s', false)", pgx.QueryExecModeSimpleProtocol)
	}
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
