//go:build live

package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// setupRows returns all rows of setup_consumers and setup_instruments by name.
func setupRows(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	rows, err := db.Query("SELECT NAME, ENABLED, COALESCE(TIMED, '-') FROM performance_schema.setup_instruments UNION ALL SELECT NAME, ENABLED, '-' FROM performance_schema.setup_consumers")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, enabled, timed string
		if err := rows.Scan(&name, &enabled, &timed); err != nil {
			t.Fatal(err)
		}
		all[name] = enabled + " " + timed
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// changed lists the rows that differ.
func changed(before, after map[string]string) (names []string) {
	for name, row := range after {
		if before[name] != row {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// collectorConnection returns the id of the connection of the only run.
func collectorConnection(t *testing.T, b *bench) int {
	t.Helper()
	id := 0
	if err := b.db.QueryRow("SELECT IS_USED_LOCK('assay setup_consumers 0')").Scan(&id); err != nil {
		t.Fatalf("find the collector's connection: %v", err)
	}
	return id
}

// What was enabled before stays enabled, and an instrument that was enabled but not timed
// is so again.
func instrumentsAreRestored(t *testing.T, b *bench) {
	ways := map[string]func(t *testing.T, b *bench, c sampling.Collector){
		"after a run": func(t *testing.T, b *bench, c sampling.Collector) {
			r := samplingtest.Start(t, c)
			r.Await(t, 1)
			if _, err := r.Stop(t); err != nil {
				t.Error(err)
			}
		},
		"without a run": func(*testing.T, *bench, sampling.Collector) {},
		"connection killed": func(t *testing.T, b *bench, c sampling.Collector) {
			mysqldtest.Exec(t, b.db, fmt.Sprintf("KILL %d", collectorConnection(t, b)))
		},
	}
	mysqldtest.Exec(t, b.db, mixedSetup...)
	before := setupRows(t, b.db)
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		t.Run(way, func(t *testing.T) {
			c := started(t, b.dsn)
			on := setupRows(t, b.db)
			during := changed(before, on)
			for _, name := range []string{"events_waits_current", handler, "wait/lock/table/sql/handler"} {
				if !slices.Contains(during, name) {
					t.Errorf("%s is not enabled", name)
				}
			}
			for _, name := range during {
				if timed := strings.HasSuffix(before[name], " NO") && strings.HasSuffix(on[name], " YES"); timed != (name == handler) {
					t.Errorf("%s: timed %t", name, timed)
				}
			}
			d, err := c.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var described []string
			for _, name := range d.Instruments {
				described = append(described, strings.TrimPrefix(name, "consumer/"))
			}
			slices.Sort(described)
			if !slices.Equal(described, during) {
				t.Errorf("enabled %q, described %q", during, described)
			}
			ways[way](t, b, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if left := changed(before, setupRows(t, b.db)); len(left) > 0 {
				t.Errorf("not restored: %q", left)
			}
			if err := c.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

// A Start that is cancelled at any point leaves nothing enabled after Close.
func cancelledStartIsRestored(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	failed := 0
	for after := time.Duration(0); after < 12*time.Millisecond; after += 500 * time.Microsecond {
		c := mysql.New(b.dsn)
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if err := c.Start(ctx); err != nil {
			failed++
		}
		cancel()
		if err := c.Close(); err != nil {
			t.Errorf("cancelled after %v: close: %v", after, err)
		}
		if left := changed(before, setupRows(t, b.db)); len(left) > 0 {
			t.Fatalf("cancelled after %v: not restored: %q", after, left)
		}
	}
	t.Logf("%d of 24 starts were cancelled before they ended", failed)
}

// A user who may only read still sees waits, and is told the SQL that shows more.
func userWithoutRights(t *testing.T, b *bench) { loadWithoutRights(t, b, 1) }

// loadWithoutRights takes so many samples of a load of commits, and more until waits are
// seen.
func loadWithoutRights(t *testing.T, b *bench, samples float64) samplingtest.Result {
	t.Helper()
	mysqldtest.Exec(t, b.db,
		"CREATE USER 'reader'@'%' IDENTIFIED BY 'only'", "GRANT SELECT ON performance_schema.* TO 'reader'@'%'")
	reader := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "reader", "only" })
	c := started(t, reader)
	notes := strings.Join(c.Notes(), "\n")
	for _, want := range []string{
		"UPDATE performance_schema.setup_consumers s SET s.ENABLED = 'YES' WHERE s.NAME IN ('events_",
		"UPDATE performance_schema.setup_instruments s SET s.ENABLED = 'YES'",
		"GRANT UPDATE ON performance_schema.setup_consumers TO 'reader'@'%'",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	stopLoad := samplingtest.Load(t, b.db, 4, samplingtest.Brief, update)
	r := samplingtest.Start(t, c)
	r.Await(t, samples)
	// They are inferred from the sessions' states.
	r.Until(t, "waits of commits are seen", func(s samplingtest.Result) bool { return waitsOfCommits(s) >= 3 })
	s, err := r.Stop(t)
	stopLoad()
	if err != nil {
		t.Error(err)
	}
	if s.Total(metric.DBSession) == 0 || s.Total(metric.DBStatementTime) == 0 {
		t.Errorf("no sessions or statement times:\n%s", s.Describe())
	}
	if b.flavour == "mysql" && !strings.Contains(strings.Join(c.Notes(), "\n"), "GRANT PROCESS ON *.* TO 'reader'@'%'") {
		t.Errorf("no note on PROCESS: %q", c.Notes())
	}

	closed(t, c)

	// The SQL in the notes fixes it.
	for _, note := range c.Notes() {
		_, advice, _ := strings.Cut(note, "administrator: ")
		advice = strings.ReplaceAll(strings.TrimSuffix(advice, ";"), "-- or: ", "")
		mysqldtest.Exec(t, b.db, strings.Split(advice, "; ")...)
	}
	again := started(t, reader)
	if notes := again.Notes(); len(notes) > 0 {
		t.Errorf("notes after their SQL was run: %q", notes)
	}
	return s
}

// A user with rights on the ledger's table alone is told the GRANT, and can still describe the
// server.
func userOfTheLedgerAlone(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE USER 'no''body'@'%' IDENTIFIED BY 'at all'", "GRANT SELECT, DELETE ON item TO 'no''body'@'%'")
	dsn := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "no'body", "at all" })
	before := setupRows(t, b.db)
	defer expectRestored(t, b, before, "the run has ended")
	c := collector(t, dsn)
	_, examined := mysql.Driver{}.Examine(t.Context(), dsn)
	for when, err := range map[string]error{"start": c.Start(t.Context()), "examine": examined} {
		var rights *sampling.RightsError
		if !errors.As(err, &rights) {
			t.Errorf("%s: %v", when, err)
			continue
		}
		for _, grant := range []string{
			"GRANT SELECT, UPDATE ON performance_schema.* TO 'no''body'@'%';",
			"GRANT INSERT, DELETE ON performance_schema.setup_objects TO 'no''body'@'%';",
		} {
			if !strings.Contains(rights.SQL, grant) {
				t.Errorf("%s: %q lacks %q", when, rights.SQL, grant)
			}
		}
	}
	if d, err := c.Describe(t.Context()); err != nil || d.Variables["sync_binlog"] == "" {
		t.Errorf("describe: %v, %v", d, err)
	}
}

// On a server that is read-only nothing is switched on where its flavour allows that to
// administrators alone: waits are seen as without the rights, and the note says what allows
// it.
func readOnlyServer(t *testing.T, b *bench) {
	dsn := rights(t, b, "replica")
	before := setupRows(t, b.db)
	switches := map[string]string{"mysql": "super_read_only", "mariadb": "read_only"}
	mysqldtest.Exec(t, b.db, "SET GLOBAL "+switches[b.flavour]+" = ON")
	defer mysqldtest.Exec(t, b.db, "SET GLOBAL "+switches[b.flavour]+" = OFF", "SET GLOBAL read_only = OFF")
	run := func() (notes []string, on int) {
		t.Helper()
		c := started(t, dsn)
		on = len(changed(before, setupRows(t, b.db)))
		r := samplingtest.Start(t, c)
		r.Await(t, 1)
		if _, err := r.Stop(t); err != nil {
			t.Error(err)
		}
		closed(t, c)
		expectRestored(t, b, before, "a run has ended")
		return c.Notes(), on
	}
	notes, on := run()
	if b.flavour == "mariadb" {
		const grant = "GRANT READ_ONLY ADMIN ON *.* TO 'replica'@'%'"
		if on > 0 || len(notes) == 0 || !strings.Contains(notes[0], "(the server is read-only)") || !strings.Contains(notes[0], grant) {
			t.Errorf("%d rows are on, notes %q", on, notes)
		}
		if found, err := (mysql.Driver{}).Examine(t.Context(), dsn); err != nil || !slices.Equal(found.Notes, notes) {
			t.Errorf("examined: %q, %v; notes of the run: %q", found.Notes, err, notes)
		}
		mysqldtest.Exec(t, b.db, grant)
		notes, on = run()
	}
	if on == 0 || len(notes) > 0 {
		t.Errorf("%d rows are on, notes %q", on, notes)
	}
}

func TestPerformanceSchemaOff(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	performanceSchemaOff(t, "mariadb")
}

func performanceSchemaOff(t *testing.T, flavour string) {
	t.Helper()
	dsn := mysqldtest.StartInMemory(t, flavour, "--performance-schema=OFF").DSN()
	c := collector(t, dsn)
	err := c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "restart the server with performance_schema=ON") {
		t.Errorf("start: %v", err)
	}
	d, err := c.Describe(t.Context())
	if err != nil || d.Flavour != flavour || d.Variables["performance_schema"] != "OFF" || d.Version == "" || strings.Contains(d.Version, "-") {
		t.Errorf("describe: %+v, %v", d, err)
	}
	if _, err := (mysql.Driver{}).Examine(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "performance_schema is off in "+flavour) {
		t.Errorf("examine: %v", err)
	}
}
