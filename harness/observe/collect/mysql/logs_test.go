//go:build live

package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/servers/mysqld/mysqldtest"
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

// Defaults of the server that refuse statements, or answer them in part, are not those of the
// collector's session.
func hostileDefaults(t *testing.T, b *bench) {
	dsn := rights(t, b, "default")
	readOnly := map[string]string{"mysql": "transaction_read_only", "mariadb": "tx_read_only"}[b.flavour]
	before := setupRows(t, b.db)
	during := setupRowsWith(t, b, dsn)
	mysqldtest.Exec(t, b.db, "SET GLOBAL sql_safe_updates = 1", "SET GLOBAL sql_select_limit = 1", "SET GLOBAL max_join_size = 1",
		"SET GLOBAL autocommit = 0", "SET GLOBAL "+readOnly+" = 1")
	c := mysql.New(dsn)
	err := c.Start(t.Context())
	mysqldtest.Exec(t, b.db, "SET GLOBAL sql_safe_updates = 0", "SET GLOBAL sql_select_limit = 18446744073709551615", "SET GLOBAL max_join_size = 18446744073709551615",
		"SET GLOBAL autocommit = 1", "SET GLOBAL "+readOnly+" = 0")
	if err != nil {
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
