package mysql

import (
	"cmp"
	"context"
	"crypto/rand"
	dbdriver "database/sql/driver"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/database"
)

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
	_, err := conn.(dbdriver.ExecerContext).ExecContext(ctx, fmt.Sprintf(meaning, charset, collation), nil)
	if err == nil {
		err = set(ctx, conn, c.Params)
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

// Connect connects.
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
