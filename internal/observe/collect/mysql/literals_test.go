//go:build live

package mysql_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// The texts of statements that become labels are those of the servers' digests, in which no
// literal is left, whatever the statement.
func TestDigestsHaveNoLiterals(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 0.1)
		db := mysqldtest.Open(t, mysqldtest.StartInMemory(t, flavour).DSN())
		db.SetMaxOpenConns(1)
		mysqldtest.Exec(t, db, "CREATE DATABASE shop", "USE shop")
		statements := map[string][]string{
			"mysql": {
				"CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'nobody.test', SOURCE_USER = 'bob', SOURCE_PASSWORD = 'hunter2'",
				"SET PASSWORD FOR bob = 'hunter2'", "ALTER USER bob IDENTIFIED BY 'hunter2' REPLACE 'hunter2'", "ALTER USER bob IDENTIFIED BY 'hunter2' RETAIN CURRENT PASSWORD",
				"CREATE FUNCTION f() RETURNS INT DETERMINISTIC LANGUAGE SQL RETURN LENGTH('hunter2')",
				"CREATE FUNCTION g() RETURNS INT LANGUAGE JAVASCRIPT AS $$return 'hunter2'$$",
				"CREATE FUNCTION g() RETURNS INT LANGUAGE JAVASCRIPT AS $tag$return 'hunter2'$tag$",
			},
			"mariadb": {
				"CHANGE MASTER TO MASTER_HOST = 'nobody.test', MASTER_USER = 'bob', MASTER_PASSWORD = 'hunter2'",
				"SET PASSWORD FOR bob = PASSWORD('hunter2')", "ALTER USER bob IDENTIFIED VIA mysql_native_password USING PASSWORD('hunter2')",
				"EXECUTE IMMEDIATE 'SELECT ''hunter2'''", "SET STATEMENT max_statement_time = 5 FOR SELECT 'hunter2'",
			},
		}[flavour]
		for _, s := range append(statements,
			"CREATE USER bob IDENTIFIED BY 'hunter2'", "ALTER USER bob IDENTIFIED BY \"hunter2\"", "GRANT SELECT ON *.* TO bob",
			"SET @secret = 'hunter2'", "SELECT 'it''s hunter2', 'it\\'s hunter2', N'hunter2', _utf8mb4'hunter2', 0x68756e74657232 /* 'hunter2' */ -- hunter2",
			"PREPARE p FROM 'SELECT ''hunter2'''", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'bob', PASSWORD 'hunter2', HOST 'nobody.test')",
			"ALTER SERVER s OPTIONS (PASSWORD 'hunter2')", "KILL QUERY 'hunter2'", "SET GLOBAL init_connect = 'hunter2'",
			"CREATE EVENT e ON SCHEDULE EVERY 1 DAY COMMENT 'hunter2' DO SELECT 'hunter2'", "SELECT 'hunter2",
			"INSERT INTO nowhere VALUES ('hunter2'), ('hunter2')") {
			_, err := db.Exec(s)
			t.Logf("%s: %v", s, err) // one that fails has a digest too
		}
		rows, err := db.Query("SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT IS NOT NULL")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
			if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
				t.Errorf("the digest's text has a literal: %s", text)
			}
		}
		if err := rows.Err(); err != nil || len(all) < len(statements)+10 {
			t.Errorf("%d digests, %v", len(all), err)
		}
	})
}
