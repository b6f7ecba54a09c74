package postgres

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
)

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

// Driver is that of the connections.
func (connector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// Connect connects.
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

// Close closes the connection.
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
	for _, host := range hosts(config) {
		if err := database.CheckAddress(host); err != nil {
			return nil, err
		}
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

// hosts are those of a DSN, which may be several.
func hosts(c *pgx.ConnConfig) []string {
	all := []string{c.Host}
	for _, f := range c.Fallbacks {
		all = append(all, f.Host)
	}
	return all
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

// settle names the session, lifts the limit on the time of a transaction, and has the server
// end a statement whose client is gone, unless the DSN names these settings. They cannot be
// startup parameters: a server refuses those that it does not know.
func settle(ctx context.Context, conn *pgx.Conn, name string) error {
	statement := ownPrefix + " SELECT set_config('application_name', '" + name + "', false)"
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
