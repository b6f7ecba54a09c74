package mysql

import (
	"cmp"
	"context"
	"crypto/rand"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
)

// connector opens connections that end at the server itself: a pooler is refused before
// anything is set on the connection.
type connector struct {
	config *driver.Config
	intake *database.Intake
}

func (connector) Driver() dbdriver.Driver { return driver.MySQLDriver{} }

// Connect connects, and sets what the DSN's parameters say.
func (c connector) Connect(ctx context.Context) (_ dbdriver.Conn, err error) {
	var dialled net.Conn
	defer func() {
		if err != nil && dialled != nil {
			_ = dialled.Close() // which the driver leaves open if it panics
		}
	}()
	defer foreign.Guard(&err)
	if err := database.CheckAddress(c.config.Addr); err != nil {
		return nil, err
	}
	heard := database.Heard{Intake: c.intake}
	config := c.config.Clone()
	config.Params = nil // the driver would set them at once
	var loggedIn atomic.Bool
	dial := heard.Dial(dialBounded(&loggedIn))
	config.DialFunc = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		dialled, err = dial(ctx, network, address)
		return dialled, err
	}
	bare, err := driver.NewConnector(config)
	if err != nil {
		return nil, unreadable(err)
	}
	opened, err := bare.Connect(ctx)
	if err != nil {
		return nil, dialect.Explain(err, &heard)
	}
	loggedIn.Store(true)
	conn := guarded{opened.(driverConn)}
	if err = direct(ctx, conn, &heard); err == nil {
		err = settle(ctx, conn, c.config)
	}
	if err != nil {
		_ = conn.Close()
		return nil, dialect.Explain(err, &heard)
	}
	heard.Accept()
	return conn, nil
}

// direct refuses a pooler: the session that executes statements is not the one whose number
// the greeting told, or a pooler names itself, as those numbers may be the same by chance. A
// proxy that only forwards bytes, as HAProxy in TCP mode does, passes the server's own greeting
// on.
func direct(ctx context.Context, conn dbdriver.Conn, heard *database.Heard) error {
	version, greeted, ok := heard.Greeting()
	if !ok {
		return errors.New("identify the server: its greeting is unreadable")
	}
	// With a second column: ProxySQL answers the query for this number alone by itself.
	session, err := firstOf(ctx, conn, "SELECT CONNECTION_ID() & 0xffffffff, VERSION()")
	if err != nil {
		return database.Unidentified(err)
	}
	comment, err := firstOf(ctx, conn, "SELECT @@version_comment LIMIT 1") // ProxySQL answers this by itself
	if err != nil && !refused(err) {
		return database.Unidentified(err)
	}
	switch product := productOf(version + " " + comment); {
	case session != fmt.Sprint(greeted):
		return database.Pooler(cmp.Or(product, "such as ProxySQL or MaxScale"), fmt.Sprintf("its greeting names session %d, and session %s answers", greeted, session))
	case product != "":
		return database.Pooler(product, "it names itself")
	}
	return nil
}

// productOf is the pooler that names itself in a text; empty: none.
func productOf(text string) string {
	for _, name := range []string{"ProxySQL", "MaxScale", "RDS Proxy", "MySQL Router", "Vitess"} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// firstOf is the first column of a query's first row, as text.
func firstOf(ctx context.Context, conn dbdriver.Conn, query string) (string, error) {
	rows, err := conn.(dbdriver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	row := make([]dbdriver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return "", err
	}
	if text, ok := row[0].([]byte); ok {
		return string(text), nil
	}
	return fmt.Sprint(row[0]), nil
}

// meaning sets every session variable that changes what a statement of ours means or whether
// it is executed in full, in any server of the family: its defaults, its init_connect and its
// options are made for the service. Each comment is read by the flavour alone whose names it
// has, from the version on that knows them. An hour is more than any statement takes: it ends
// what a process that was killed has left, which the server does not notice.
const meaning = "SET NAMES %s COLLATE %s, autocommit = 1, time_zone = '+00:00', sql_mode = ''," +
	" sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_auto_is_null = 0, foreign_key_checks = 1" +
	" /*!50720 , max_execution_time = 3600000, transaction_read_only = OFF, transaction_isolation = " + isolation + " */" +
	" /*M!100101 , max_statement_time = 3600, tx_read_only = OFF, tx_isolation = " + isolation + " */"

// isolation is the level at which a DELETE keeps no lock on rows that it passes, and a query
// sees what is committed. A server that writes statements to its binlog refuses that.
const isolation = "IF(@@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT', 'REPEATABLE-READ', 'READ-COMMITTED')"

// settle sets up the session of a new connection, with what the DSN's parameters say last.
func settle(ctx context.Context, conn dbdriver.Conn, c *driver.Config) error {
	collation := cmp.Or(c.Collation, "utf8mb4_general_ci") // as the driver asks for
	charset, _, _ := strings.Cut(collation, "_")
	var given []string
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		given = append(given, name+" = "+c.Params[name])
	}
	_, err := conn.(dbdriver.ExecerContext).ExecContext(ctx, fmt.Sprintf(meaning, charset, collation), nil)
	if err == nil && len(given) > 0 {
		_, err = conn.(dbdriver.ExecerContext).ExecContext(ctx, "SET "+strings.Join(given, ", "), nil)
	}
	if err != nil {
		return fmt.Errorf("set up session: %w", err)
	}
	return nil
}

// killer opens connections whose session does not outlive them.
type killer struct{ connector }

// statementLock is held by a session, which is known by it: the number of a session may be
// another one's after a restart of the server or a failover.
const statementLock = "assay statement "

func (k killer) Connect(ctx context.Context) (dbdriver.Conn, error) {
	conn, err := k.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &endable{conn.(driverConn), k.connector, statementLock + strings.ToLower(rand.Text())}
	if _, err := firstOf(ctx, s, "SELECT GET_LOCK("+quote(s.lock)+", 0)"); err != nil && !refused(err) {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// endable is a connection that knows its session, to end it.
type endable struct {
	driverConn
	connector connector
	lock      string
}

// Close closes the connection. To give up a statement the driver breaks the connection, which
// the server does not notice before the statement has ended: it would go on, with its locks.
// Therefore the session of a broken connection is killed.
func (s *endable) Close() error {
	broken := !s.IsValid()
	err := s.driverConn.Close()
	if broken {
		s.kill()
	}
	return err
}

// kill kills the session, if it is still there and the server can be reached.
func (s *endable) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), database.ConnectTimeout)
	defer cancel()
	conn, err := s.connector.Connect(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	if id, err := firstOf(ctx, conn, "SELECT COALESCE(IS_USED_LOCK("+quote(s.lock)+"), '')"); err == nil && id != "" {
		_, _ = conn.(dbdriver.ExecerContext).ExecContext(ctx, "KILL "+id, nil) // it may have just ended
	}
}
