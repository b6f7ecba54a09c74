package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// writerLog is a table of the reference service for writers that bypass it.
const writerLog = Schema + ".writer_log"

// staleReads is the table of scenarios/stale-reads.js, tpcc begins the names of the
// databases of scenarios/tpcc.js.
const (
	staleReads = Schema + ".stale_reads"
	tpcc       = "tpcc"
)

// statements create the schema and both accounts. They can be repeated.
func statements(f mysqld.Flavour, k replication.Kind, u Users) []string {
	account := func(u User) string { return fmt.Sprintf("'%s'@'%s'", u.Name, process.Loopback) }
	list := []string{
		// Keeps this session out of the statistics, and passwords out of sampled statements.
		"UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()",
		"CREATE DATABASE IF NOT EXISTS " + Schema + " CHARACTER SET utf8mb4",
	}
	users := []User{u.Service, u.Collector}
	replicationGrants := replication.Grants(k, account(u.Replication))
	if len(replicationGrants) > 0 {
		users = append(users, u.Replication)
	}
	for _, u := range users {
		list = append(
			list,
			fmt.Sprintf("CREATE USER IF NOT EXISTS %s IDENTIFIED BY '%s'", account(u), u.Password.reveal()),
			// An account made before the state file was lost has another password.
			fmt.Sprintf("ALTER USER %s IDENTIFIED BY '%s'", account(u), u.Password.reveal()),
		)
	}
	binlogStatus := "REPLICATION CLIENT" // SHOW BINARY LOG STATUS, SHOW MASTER STATUS
	if f == mysqld.MariaDB {
		binlogStatus = "BINLOG MONITOR"
	}
	service, collector := account(u.Service), account(u.Collector)
	list = append(
		list,
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, "+
			"CREATE VIEW, SHOW VIEW, CREATE TEMPORARY TABLES, LOCK TABLES ON "+Schema+".* TO "+service,
		// PROCESS is for INNODB_TRX, the row locks of MariaDB.
		"GRANT PROCESS, "+binlogStatus+" ON *.* TO "+collector,
		"GRANT SELECT ON performance_schema.* TO "+collector,
		"GRANT UPDATE ON performance_schema.setup_instruments TO "+collector,
		"GRANT UPDATE ON performance_schema.setup_consumers TO "+collector,
		// The marks of what is to be restored.
		"GRANT INSERT, DELETE ON performance_schema.setup_objects TO "+collector,
		// The ledger: reading the persisted rows, and removing them.
		"GRANT SELECT, DELETE ON "+Schema+".* TO "+collector,
		// A scenario that needs the database also uses this account, to write the rows of
		// scenarios/sql-log.js. The service creates the table later; a privilege on a
		// missing table can only be granted together with CREATE.
		"GRANT CREATE, INSERT ON "+writerLog+" TO "+collector,
		"REVOKE CREATE ON "+writerLog+" FROM "+collector,
		// The tables that other scenarios make themselves.
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON "+staleReads+" TO "+collector,
		"GRANT ALL ON `"+tpcc+"%`.* TO "+collector,
	)
	return append(list, replicationGrants...)
}

// grant executes the statements as root, in one session.
func grant(ctx context.Context, dsn string, f mysqld.Flavour, k replication.Kind, u Users) error {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return errors.New("make database users: unreadable DSN") // its own error would quote it
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return fmt.Errorf("make database users: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("make database users: %w", err)
	}
	defer func() { _ = conn.Close() }()
	for _, s := range statements(f, k, u) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("make database users: %s", mask.Text(err.Error()))
		}
	}
	return nil
}
