//go:build live

package mysql_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// The collector's statements are in none of the server's logs, where its user may keep them
// out. Elsewhere an examination says so, with the SQL that allows it.
func statementsAreNotLogged(t *testing.T, b *bench) {
	dsn := rights(t, b, "quiet")
	log := func(state string, seconds int) {
		mysqldtest.Exec(t, b.db,
			"SET GLOBAL log_output = 'TABLE'", fmt.Sprintf("SET GLOBAL long_query_time = %d", seconds),
			"SET GLOBAL log_queries_not_using_indexes = "+state, "SET GLOBAL general_log = "+state, "SET GLOBAL slow_query_log = "+state)
	}
	mysqldtest.Exec(t, b.db, "TRUNCATE performance_schema.events_statements_summary_by_digest")
	log("ON", 0)
	defer log("OFF", 10)
	// What follows would itself match a pattern in one piece.
	logged := func() (general, slow, digests int) {
		t.Helper()
		for query, n := range map[string]*int{
			"SELECT COUNT(*) FROM mysql.general_log WHERE CONVERT(argument USING utf8mb4) LIKE CONCAT('%events_waits', '_current w%')":                &general,
			"SELECT COUNT(*) FROM mysql.slow_log WHERE CONVERT(sql_text USING utf8mb4) LIKE CONCAT('%events_waits', '_current w%')":                   &slow,
			"SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE CONCAT('%events_waits', '_current%')": &digests,
		} {
			if err := b.db.QueryRow(query).Scan(n); err != nil {
				t.Fatal(err)
			}
		}
		return general, slow, digests
	}
	binlog := func() (file string, position int) {
		t.Helper()
		columns := map[string]int{"mysql": 3, "mariadb": 2}[b.flavour]
		statement := map[string]string{"mysql": "SHOW BINARY LOG STATUS", "mariadb": "SHOW MASTER STATUS"}[b.flavour]
		into := []any{&file, &position}
		for range columns {
			into = append(into, new(string))
		}
		if err := b.db.QueryRow(statement).Scan(into[:2+columns]...); err != nil {
			t.Fatal(err)
		}
		return file, position
	}
	run := func(dsn string) (general, slow int) {
		t.Helper()
		generalBefore, slowBefore, _ := logged()
		file, position := binlog()
		c := started(t, dsn)
		r := samplingtest.Start(t, c)
		r.Await(t, 10)
		if _, err := r.Stop(t); err != nil {
			t.Error(err)
		}
		closed(t, c)
		if afterFile, after := binlog(); afterFile != file || after != position {
			t.Errorf("a run has written to the binlog: %s:%d, then %s:%d", file, position, afterFile, after)
		}
		general, slow, digests := logged()
		if digests > 0 {
			t.Errorf("%d digests are of the collector's samples", digests)
		}
		return general - generalBefore, slow - slowBefore
	}
	if general, slow := run(b.dsn); general+slow > 0 {
		t.Errorf("of a user with all rights %d statements are in the general log, and %d in the slow log", general, slow)
	}
	burdens := func() []string {
		t.Helper()
		found, err := mysql.Driver{}.Examine(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		return found.Burdens
	}
	want := map[string]int{"mysql": 2, "mariadb": 1}[b.flavour]
	general, slow := run(dsn)
	if all := burdens(); len(all) != want || general == 0 || (slow > 0) != (b.flavour == "mysql") {
		t.Errorf("%d statements are in the general log, and %d in the slow log; burdens: %q", general, slow, all)
	}
	for _, burden := range burdens() {
		// The last of them is the GRANT.
		mysqldtest.Exec(t, b.db, strings.TrimSuffix(burden[strings.LastIndex(burden, "GRANT "):], ";"))
	}
	if general, slow := run(dsn); general+slow > 0 {
		t.Errorf("after the advice %d statements are in the general log, and %d in the slow log", general, slow)
	}
	if all := burdens(); len(all) > 0 {
		t.Errorf("burdens after the advice: %q", all)
	}
}

// Defaults of the server that refuse statements, answer them in part, or change what they
// mean, are not those of our sessions: neither of the collector's nor of those that read a
// ledger and remove its rows.
func hostileDefaults(t *testing.T, b *bench) {
	dsn := rights(t, b, "default")
	mysqldtest.Exec(t, b.db, "GRANT SELECT, DELETE ON shop.* TO 'default'@'%'", "CREATE TABLE hostile (id VARCHAR(9) CHARACTER SET utf8mb4, run_id VARCHAR(9))", "INSERT INTO hostile VALUES ('é', 'r'), ('b', 'r')")
	before := setupRows(t, b.db)
	during := setupRowsWith(t, b, dsn)
	hostile := map[string]string{
		"sql_safe_updates": "1", "sql_select_limit": "1", "max_join_size": "1", "autocommit": "0", "foreign_key_checks": "0", "sql_auto_is_null": "1",
		"sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT'", "init_connect": `'SET autocommit = 0, sql_safe_updates = 1; SET NAMES latin1'`, "time_zone": "'+05:00'",
		"transaction_isolation": "'READ-UNCOMMITTED'", "transaction_read_only": "1", "max_execution_time": "1",
	}
	if b.flavour == "mariadb" {
		maps.Copy(hostile, map[string]string{"tx_isolation": "'READ-UNCOMMITTED'", "tx_read_only": "1", "max_statement_time": "0.001"})
		for _, name := range []string{"transaction_isolation", "transaction_read_only", "max_execution_time"} {
			delete(hostile, name)
		}
	}
	for name, value := range hostile {
		var old string
		if err := b.db.QueryRow("SELECT @@GLOBAL." + name).Scan(&old); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile("^[0-9.]+$").MatchString(old) {
			old = "'" + old + "'"
		}
		defer mysqldtest.Exec(t, b.db, "SET GLOBAL "+name+" = "+old)
		mysqldtest.Exec(t, b.db, "SET GLOBAL "+name+" = "+value)
	}
	open := func() *database.DB {
		t.Helper()
		db, err := databases.OpenSQL(with(t, dsn, func(c *driver.Config) {
			c.Params = map[string]string{"autocommit": "0", "time_zone": "'+07:00'"} // as a service may want it
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open()
	ask := func(want, query string) {
		t.Helper()
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", query, got, err, want)
		}
	}
	ask("2 READ-COMMITTED", `SELECT CONCAT(COUNT(*), " ", IF(MAX(id) = 'é', @@`+map[string]string{"mysql": "transaction", "mariadb": "tx"}[b.flavour]+`_isolation, '')) FROM hostile`)
	mysqldtest.Exec(t, b.db, "INSERT INTO hostile VALUES ('late', 'r')")
	ask("3", "SELECT COUNT(*) FROM (SELECT id FROM hostile WHERE run_id IS NOT NULL) AS persisted")
	ask("0 é +00:00", "SELECT CONCAT_WS(' ', SLEEP(0.05), 'é', @@time_zone) FROM hostile LIMIT 1")
	ask("3600", map[string]string{"mysql": "SELECT @@max_execution_time DIV 1000", "mariadb": "SELECT CAST(@@max_statement_time AS INT)"}[b.flavour])
	if _, err := db.Exec("DELETE FROM hostile WHERE run_id = 'r' AND id = 'é'"); err != nil {
		t.Error(err)
	}
	mysqldtest.Exec(t, b.db, "SET GLOBAL binlog_format = 'STATEMENT'") // refuses the isolation of other servers
	defer mysqldtest.Exec(t, b.db, "SET GLOBAL binlog_format = 'ROW'")
	if _, err := open().Exec("DELETE FROM hostile WHERE run_id = 'r' AND id = 'late'"); err != nil {
		t.Error(err)
	}
	var left string
	if err := b.db.QueryRow("SELECT GROUP_CONCAT(id) FROM hostile").Scan(&left); err != nil || left != "b" {
		t.Errorf("after the removal the table holds %q, %v", left, err)
	}

	c := mysql.New(dsn)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	expectSetup(t, b, during, "a run under such defaults")
	closed(t, c)
	expectRestored(t, b, before, "it has ended")
}

// setupRowsWith returns the setup during a run.
func setupRowsWith(t *testing.T, b *bench, dsn string) map[string]string {
	t.Helper()
	c := started(t, dsn)
	defer closed(t, c)
	return setupRows(t, b.db)
}

// A large answer, whose packets are continued by others that begin like an announcement of
// columns, is read however it is sent.
func largeAnswers(t *testing.T, b *bench) {
	for _, parameter := range []string{"", "compress=true", "tls=skip-verify", "tls=preferred", "tls=skip-verify&compress=true"} {
		db, err := databases.OpenSQL(b.dsn + "?" + parameter)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for range 3 {
			var x, y []byte
			const half = 10 << 20
			if err := db.QueryRow("SELECT REPEAT(X'fe', 10 << 20), REPEAT(X'fe', 10 << 20)").Scan(&x, &y); err != nil || len(x) != half || len(y) != half {
				t.Errorf("%s: %d and %d bytes, %v", parameter, len(x), len(y), err)
			}
		}
	}
}
