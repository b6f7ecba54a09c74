//go:build live

package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/postgrestest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// For a user who may not see other users' sessions, Start fails with the GRANT if there
// are such sessions, and otherwise adds a note.
func TestUserWithoutRights(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	b := newBench(t, counted)
	mysqldtest.Exec(t, b.db, `CREATE ROLE "no'body" LOGIN PASSWORD 'at all'`, `GRANT ALL ON item TO "no'body"`)
	nobody := b.UserDSN("no'body", "at all", shop)

	idle, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := collector(t, nobody)
	err = c.Start(t.Context())
	var rights *sampling.RightsError
	if !errors.As(err, &rights) || rights.SQL != `GRANT pg_monitor TO "no'body";` {
		t.Errorf("start with sessions of other users: %v", err)
	}
	if _, err := (postgres.Driver{}).Examine(t.Context(), nobody); !errors.As(err, &rights) {
		t.Errorf("examine: %v", err)
	}
	if d, err := c.Describe(t.Context()); err != nil || d.Variables["synchronous_commit"] != "on" || d.Variables["shared_buffers"] != "128MB" {
		t.Errorf("describe without rights: %v, %v", d, err)
	}
	_ = idle.Close()
	b.db.SetMaxIdleConns(0)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	waitForNone(t, postgrestest.Open(t, b.DSN()), "%")

	// No sessions but those of this user.
	own := postgrestest.Open(t, nobody)
	alone := started(t, nobody)
	if notes := strings.Join(alone.Notes(), "\n"); !strings.Contains(notes, `GRANT pg_monitor TO "no'body";`) {
		t.Errorf("notes: %q", notes)
	}
	r := samplingtest.Start(t, alone)
	stop := samplingtest.Load(t, own, 1, 0, func() string { return "SELECT pg_sleep(0.1)" })
	r.Until(t, "sessions of its own user are seen", func(s samplingtest.Result) bool {
		return s.Total(metric.DBSession, "event", "Timeout:PgSleep") > 0
	})
	stop()
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}

	// The SQL in the notes fixes it.
	mysqldtest.Exec(t, b.db, rights.SQL)
	if err := alone.Close(); err != nil {
		t.Error(err)
	}
	waitForNone(t, b.db, "assay run%")
	again := started(t, nobody)
	usage := `GRANT USAGE ON SCHEMA "stats schema" TO "no'body";`
	if notes := again.Notes(); len(notes) != 1 || !strings.HasSuffix(notes[0], usage) {
		t.Errorf("notes for a user who may see all sessions: %q", notes)
	}
	mysqldtest.Exec(t, b.db, usage)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	waitForNone(t, b.db, "assay run%")
	if notes := started(t, nobody).Notes(); len(notes) > 0 {
		t.Errorf("notes after their SQL was run: %q", notes)
	}
}

// waitForNone waits until the database of the load has no session whose name matches.
func waitForNone(t *testing.T, db *sql.DB, like string) {
	t.Helper()
	polltest.Until(t, "no session is left", func() bool {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datname = $1 AND application_name LIKE $2", shop, like).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

// Each note has the SQL that fixes it.
func TestNotes(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	b := newBench(t)
	notes := started(t, b.dsn).Notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "add pg_stat_statements to the server's shared_preload_libraries; restart it; CREATE EXTENSION pg_stat_statements; -- in database shop") {
		t.Errorf("without the library: %q", notes)
	}
	mysqldtest.Exec(t, b.db, "ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
	if err := errors.Join(b.Stop(), b.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	b.db.SetMaxIdleConns(0)
	for _, step := range []struct{ before, want string }{
		{"", "run as an administrator: CREATE EXTENSION pg_stat_statements; -- in database shop"},
		{"CREATE EXTENSION pg_stat_statements VERSION '1.8'", "run as an administrator: ALTER EXTENSION pg_stat_statements UPDATE; -- in database shop"},
		{"ALTER EXTENSION pg_stat_statements UPDATE", ""},
		{"ALTER SYSTEM SET pg_stat_statements.track = none", "ALTER SYSTEM SET pg_stat_statements.track = top; SELECT pg_reload_conf();"},
		{"ALTER SYSTEM SET pg_stat_statements.track = top", ""},
		{"ALTER SYSTEM SET compute_query_id = off", "ALTER SYSTEM SET compute_query_id = auto; SELECT pg_reload_conf();"},
		{"ALTER SYSTEM SET compute_query_id = auto", ""},
	} {
		if step.before != "" {
			mysqldtest.Exec(t, b.db, step.before, "SELECT pg_reload_conf()")
		}
		var e sampling.Examination
		polltest.Until(t, fmt.Sprintf("after %q the note is %q", step.before, step.want), func() bool { // the reload is asynchronous
			var err error
			e, err = postgres.Driver{}.Examine(t.Context(), b.dsn)
			return err == nil && (len(e.Notes) != 0) == (step.want != "") && strings.Contains(strings.Join(e.Notes, "\n"), step.want)
		})
		for _, name := range []string{metric.DBConnections, metric.DBDeadlocks, metric.DBAborted} {
			if !slices.ContainsFunc(e.Variables, func(v string) bool { return slices.Contains(metric.Variables(name), v) }) {
				t.Errorf("%s cannot be read: variables %q", name, e.Variables)
			}
		}
		if hints := strings.Join(e.Hints, "\n"); !strings.Contains(hints, "ALTER SYSTEM SET track_io_timing = on") {
			t.Errorf("hints %q", hints)
		}
	}
	mysqldtest.Exec(t, b.db, "ALTER SYSTEM SET track_activities = off", "SELECT pg_reload_conf()")
	polltest.Until(t, "the reload is done", func() bool {
		var setting string
		return b.db.QueryRow("SHOW track_activities").Scan(&setting) == nil && setting == "off"
	})
	var blind *sampling.BlindError
	if err := collector(t, b.dsn).Start(t.Context()); !errors.As(err, &blind) || !strings.Contains(blind.Remedy, "ALTER SYSTEM SET track_activities = on") {
		t.Errorf("with track_activities off: %v", err)
	}
}

// If the extension is dropped during a run, only the statement times end.
func TestExtensionDropped(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	b := newBench(t, counted)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	mysqldtest.Exec(t, b.db, "DROP EXTENSION pg_stat_statements")
	polltest.Until(t, "it is noted", func() bool {
		return strings.Contains(strings.Join(c.Notes(), "\n"), "CREATE EXTENSION pg_stat_statements")
	})
	r.Await(t, 1)
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}
}

// The collector changes neither settings nor tables, and its session ends with it. It logs
// nothing.
func TestNothingIsChanged(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	b := newBench(t, counted)
	state := func() map[string]string {
		all := map[string]string{}
		rows, err := b.db.Query("SELECT name, setting FROM pg_settings UNION ALL SELECT 'role ' || setrole || ' ' || setdatabase, setconfig::text FROM pg_db_role_setting" +
			" UNION ALL SELECT 'relation ' || oid, relname FROM pg_class WHERE relpersistence <> 't'")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				t.Fatal(err)
			}
			all[name] = value
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := state()
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	b.until(t, 1, "application_name LIKE 'assay%'")
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	waitForNone(t, b.db, "assay%")
	after := state()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a closed collector starts")
	}
	noSettingLogsTheCollector(t, b)
}

// Concurrent runs notice each other.
func TestRunsShareAServer(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	b := newBench(t)
	first, second := started(t, b.dsn), started(t, b.dsn)
	r := samplingtest.Start(t, first)
	polltest.Until(t, "both have noticed", func() bool {
		return slices.Contains(first.Notes(), sampling.SharedServer) && slices.Contains(second.Notes(), sampling.SharedServer)
	})
	if _, err := r.Stop(t); err != nil {
		t.Fatal(err)
	}
}
