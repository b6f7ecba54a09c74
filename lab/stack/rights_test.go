//go:build live

package stack_test

import (
	"database/sql"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/lab/stack"
)

// sample has the privileges of the collector's query of active sessions.
const sample = `SELECT t.THREAD_ID, s.SQL_TEXT, w.EVENT_NAME FROM performance_schema.threads t
LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID
LEFT JOIN performance_schema.events_waits_current w ON w.THREAD_ID = t.THREAD_ID`

// checkRights checks that each user has the privileges it needs, and no others.
func checkRights(t *testing.T, s *stack.State, flavour string) {
	t.Helper()
	service, collector := mysqldtest.Open(t, s.ServiceDSN()), mysqldtest.Open(t, s.CollectorDSN())
	locks, binlog := "SELECT * FROM performance_schema.data_lock_waits", "SHOW BINARY LOG STATUS"
	if mysqld.Flavour(flavour) == mysqld.MariaDB {
		locks, binlog = "SELECT * FROM information_schema.INNODB_LOCK_WAITS", "SHOW BINLOG STATUS"
	}
	for _, c := range []struct {
		user       *sql.DB
		name       string
		statements []string
		denied     bool
	}{
		// Before the table exists: the privilege to write it does not allow creating it.
		{collector, "collector", []string{"CREATE TABLE writer_log (i INT)"}, true},
		{service, "service", []string{
			"CREATE TABLE r (i INT PRIMARY KEY, j INT)", "ALTER TABLE r ADD INDEX (j)", "INSERT INTO r VALUES (1, 1)",
			"UPDATE r SET j = 2", "SELECT * FROM assay.r", "CREATE TABLE gone (i INT)", "DROP TABLE gone",
			"CREATE TABLE writer_log (i INT)",
		}, false},
		{service, "service", []string{
			"SELECT * FROM mysql.user", "CREATE DATABASE other", "SELECT * FROM performance_schema.setup_instruments",
			"SET GLOBAL max_connections = 10", "CREATE USER x", "FLUSH TABLES", "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'",
		}, true},
		{collector, "collector", []string{
			sample, locks, binlog, "SELECT * FROM information_schema.INNODB_TRX", "SHOW GLOBAL STATUS", "SHOW ENGINE INNODB STATUS",
			"SELECT * FROM performance_schema.events_waits_summary_by_user_by_event_name LIMIT 1",
			"SELECT * FROM performance_schema.events_statements_summary_by_digest LIMIT 1",
			"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'",
			"UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'wait/synch/cond/sql/MYSQL_BIN_LOG%'",
			"INSERT INTO performance_schema.setup_objects VALUES ('TABLE', 'a', 'b', 'NO', 'NO')", "DELETE FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA = 'a'",
			"SELECT * FROM r", "DELETE FROM r WHERE i = 1",
			"INSERT INTO writer_log VALUES (1)",
			"CREATE TABLE stale_reads (i INT PRIMARY KEY)", "INSERT INTO stale_reads VALUES (1)", "UPDATE stale_reads SET i = 2", "DELETE FROM stale_reads", "DROP TABLE stale_reads",
			"CREATE DATABASE tpcc_a", "CREATE TABLE tpcc_a.t (i INT PRIMARY KEY)", "DROP DATABASE tpcc_a",
		}, false},
		{collector, "collector", []string{
			"SELECT * FROM mysql.user", "INSERT INTO r VALUES (2, 2)", "UPDATE r SET j = 3", "DROP TABLE r", "CREATE TABLE x (i INT)",
			"UPDATE writer_log SET i = 2", "ALTER TABLE writer_log ADD j INT", "DROP TABLE writer_log",
			"UPDATE performance_schema.threads SET INSTRUMENTED = 'NO'", "SET GLOBAL max_connections = 10", "CREATE USER x",
		}, true},
	} {
		for _, statement := range c.statements {
			rows, err := c.user.QueryContext(t.Context(), statement)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				_ = rows.Close()
			}
			denied := err != nil && strings.Contains(err.Error(), "denied")
			if err != nil && !denied || denied != c.denied {
				t.Errorf("%s: %s: %v", c.name, statement, err)
			}
		}
	}

	// The statements that created the users are not in the statistics.
	for _, table := range []string{"events_statements_history", "events_statements_history_long", "events_statements_summary_by_digest"} {
		column := "SQL_TEXT"
		if strings.HasSuffix(table, "digest") {
			column = "DIGEST_TEXT"
		}
		var n int
		query := "SELECT COUNT(*) FROM performance_schema." + table + " WHERE " + column + " LIKE '%IDENTIFIED BY%' AND " + column + " NOT LIKE 'SELECT%'"
		if err := collector.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n > 0 {
			t.Errorf("%s holds %d statements with passwords: %v", table, n, err)
		}
	}
}
