//go:build live

package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// A server that logs and counts every statement has none of the collector's in its log and
// in pg_stat_statements if the user may switch that off for a session. For a user who may
// not, the note says how many there are, in one line each, and what to run.
func TestOwnStatementsAreNotLogged(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	b := newBench(t, "shared_preload_libraries=pg_stat_statements,auto_explain", "log_min_duration_statement=0", "log_duration=on",
		"log_statement=all", "log_statement_stats=on", "auto_explain.log_min_duration=0")
	mysqldtest.Exec(t, b.db, "CREATE EXTENSION pg_stat_statements", "CREATE ROLE watcher LOGIN PASSWORD 'w'", "GRANT pg_monitor TO watcher")
	const own = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '/* assay */%'"
	counted := func() (calls int) {
		if err := b.db.QueryRow(own).Scan(&calls); err != nil {
			t.Error(err)
		}
		return calls
	}
	// watch returns what the log and the statistics gain in two seconds of a collector.
	watch := func(dsn string) (notes []string, lines, size, calls int) {
		c := started(t, dsn)
		logged, before := len(b.Log()), counted()
		r := samplingtest.Start(t, c)
		r.Await(t, 2)
		if _, err := r.Stop(t); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(b.Log()[logged:]) {
			if strings.Contains(line, "/* assay */ SELECT") {
				lines, size = lines+1, size+len(line)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		waitForNone(t, b.db, "assay run%")
		return c.Notes(), lines, size, counted() - before
	}
	if notes, lines, _, calls := watch(b.dsn); len(notes) != 0 || lines != 0 || calls != 0 {
		t.Errorf("an administrator's collector: %d lines and %d calls, notes %q", lines, calls, notes)
	}
	watcher := b.UserDSN("watcher", "w", shop)
	notes, lines, _, calls := watch(watcher)
	if len(notes) != 1 || lines == 0 || calls == 0 {
		t.Fatalf("another user's collector: %d lines and %d calls, notes %q", lines, calls, notes)
	}
	note, sql, _ := strings.Cut(notes[0], "; run as an administrator: ")
	for _, want := range []string{"the collector's own statements fill the server's log", " kB a second (auto_explain.log_min_duration = 0, log_duration = on, log_min_duration_statement = 0, log_statement = all, log_statement_stats = on)"} {
		if !strings.Contains(note, want) {
			t.Errorf("no %q in %q", want, note)
		}
	}

	// With one setting alone, the figures are those of the log.
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher SET log_duration = off", "ALTER ROLE watcher SET log_statement = none", "ALTER ROLE watcher SET log_statement_stats = off", "ALTER ROLE watcher SET auto_explain.log_min_duration = -1")
	notes, lines, size, _ := watch(watcher)
	var entries, kB int
	if len(notes) == 1 {
		_, figures, _ := strings.Cut(notes[0], "with about ")
		if _, err := fmt.Sscanf(figures, "%d entries, %d kB a second (log_min_duration_statement = 0)", &entries, &kB); err != nil {
			t.Errorf("%q: %v", notes[0], err)
		}
	}
	// The log may also hold part of the seconds before and after those that were awaited.
	if lines == 0 || lines > 4*entries || size > 4000*(kB+1) || size < lines*100 {
		t.Errorf("%d lines of %d bytes in all, told %q", lines, size, notes)
	}
	t.Logf("%d lines, %d bytes in about two seconds: %q", lines, size, notes)
	mysqldtest.Exec(t, b.db, strings.Split(strings.TrimSuffix(sql, ";"), ";")...)
	if notes, lines, _, _ := watch(watcher); len(notes) != 0 || lines != 0 {
		t.Errorf("after the SQL of the note: %d lines, %q", lines, notes)
	}

	// From version 15 on, the right to the settings alone is enough.
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher RESET ALL",
		"GRANT SET ON PARAMETER auto_explain.log_min_duration, log_duration, log_min_duration_statement, log_statement, log_statement_stats, pg_stat_statements.track TO watcher")
	if notes, lines, _, calls := watch(watcher); len(notes) != 0 || lines != 0 || calls != 0 {
		t.Errorf("with the right to change it: %d lines and %d calls, notes %q", lines, calls, notes)
	}
}

// Whatever setting of a session makes a server log is off in the collector's: all that a
// server has by name are tried at once. Those that any user may set log nothing at all.
func noSettingLogsTheCollector(t *testing.T, b *bench) {
	t.Helper()
	mysqldtest.Exec(t, b.db, "CREATE ROLE watcher LOGIN PASSWORD 'w'", "GRANT pg_monitor TO watcher", `GRANT USAGE ON SCHEMA "stats schema" TO watcher`, "CREATE ROLE boss LOGIN SUPERUSER PASSWORD 'b'")
	for role, contexts := range map[string]string{"watcher": "('user')", "boss": "('user', 'superuser')"} {
		rows, err := b.db.Query("SELECT format('ALTER ROLE " + role + " SET %s = %s', name, CASE setting WHEN 'on' THEN 'off' ELSE 'on' END)" +
			" FROM pg_settings WHERE vartype = 'bool' AND context IN " + contexts + " AND name ~ '^(log|debug|trace)_' AND name <> 'log_statement_stats'") // not with the others of its kind
		if err != nil {
			t.Fatal(err)
		}
		var statements []string
		for rows.Next() {
			var statement string
			if err := rows.Scan(&statement); err != nil {
				t.Fatal(err)
			}
			statements = append(statements, statement)
		}
		if err := rows.Err(); err != nil || len(statements) < 4 {
			t.Fatalf("%q, %v", statements, err)
		}
		mysqldtest.Exec(t, b.db, statements...)
		logged := len(b.Log())
		dsn := b.UserDSN(role, role[:1], shop)
		db, err := databases.OpenSQL(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.PingContext(t.Context()); err != nil {
			t.Error(err)
		}
		_ = db.Close()
		c := started(t, dsn)
		if role == "boss" { // its first session finds out what is logged
			logged = len(b.Log())
		}
		r := samplingtest.Start(t, c)
		r.Await(t, 1)
		if _, err := r.Stop(t); err != nil {
			t.Error(err)
		}
		if text := b.Log()[logged:]; len(text) > 0 {
			t.Errorf("%s: the log has %d bytes more, such as %.300q", role, len(text), text)
		}
	}
}
