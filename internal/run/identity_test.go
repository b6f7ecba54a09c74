//go:build live

package run

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

const (
	anID  = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
	other = "0b0e5f3a-97a5-4a3c-9d3b-6f0f3c1d2e4f"
)

// storedAs are columns, and the expression that stores a text in them.
type storedAs struct {
	column, store string
	identities    []string // as a script acknowledges them
}

// reconciled is what came of reading a table back.
func reconciled(t *testing.T, dsn, query string, identities []string, at time.Time) (record.LedgerFact, ledger.Comparison) {
	t.Helper()
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), aPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	var acks []ledger.Entry
	for _, id := range identities {
		acks = append(acks, ledger.Entry{Hash: ledger.HashOf("r", id), Millis: at.UnixMilli()})
	}
	if err := w.Acknowledged("worker/0", 1, acks); err != nil {
		t.Fatal(err)
	}
	l := &reconciler{run: "r", dsn: dsn, wait: 0, limit: time.Minute, timeout: queryTimeout, ledgers: []flowLedger{{Ledger: &spec.Ledger{Persisted: query}}}}
	fact, err := l.reconcile(t.Context(), w)
	if err != nil || fact.State != record.StateOK {
		t.Fatalf("%+v, %v", fact, err)
	}
	c, err := w.CompareLedger()
	if err != nil {
		t.Fatal(err)
	}
	return fact, c
}

// checkStored stores each identity in each column, and expects it to be found.
func checkStored(t *testing.T, root *sql.DB, dsn string, all map[string]storedAs) {
	t.Helper()
	for name, c := range all {
		mysqldtest.Exec(t, root, "CREATE TABLE "+name+" (id "+c.column+", run_id VARCHAR(20), at TIMESTAMP NULL)")
		for _, id := range c.identities {
			mysqldtest.Exec(t, root, "INSERT INTO "+name+" VALUES ("+fmt.Sprintf(c.store, id)+", 'r', CURRENT_TIMESTAMP)")
		}
		fact, got := reconciled(t, dsn, "SELECT id, at FROM "+name+" WHERE run_id = ?", c.identities, time.Now())
		if got.Missing != 0 || got.Unacknowledged != 0 || got.Persisted != int64(len(c.identities)) {
			t.Errorf("%s: %+v, %v", name, got, fact.Notes)
		}
	}
	mysqldtest.Exec(t, root, "CREATE TABLE undated (id VARCHAR(60), run_id VARCHAR(20), at TIMESTAMP NULL)",
		"INSERT INTO undated VALUES ('a', 'r', CURRENT_TIMESTAMP), ('b', 'r', NULL), (NULL, 'r', CURRENT_TIMESTAMP)")
	fact, got := reconciled(t, dsn, "SELECT id, at FROM undated WHERE run_id = ?", []string{"a", "b"}, time.Now())
	notes := strings.Join(fact.Notes, "\n")
	if got.Persisted != 1 || got.Missing != 1 || !strings.Contains(notes, fmt.Sprintf("not persisted: 1, the first of which has the identity with the hash %x", ledger.HashOf("r", "b"))) ||
		!strings.Contains(notes, "without an identity") {
		t.Errorf("%+v, %s", got, notes)
	}
	_, got = reconciled(t, dsn, "SELECT id, at FROM surrogate WHERE run_id = ?", []string{anID, other}, time.Now())
	if got.Missing != 2 || got.Unacknowledged != 2 {
		t.Errorf("%+v", got)
	}
}

// What a script acknowledges as text is found in columns of any type. A row without a time is
// not persisted, and named; one without an identity is no transaction's.
func TestStoredIdentities(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	uuids, numbers := []string{anID, other, strings.ToUpper("c0ffee00-0000-4000-8000-00000000000a")}, []string{"7", "9007199254740993", "18446744073709551615"}
	t.Run("mysql", func(t *testing.T) {
		server := mysqldtest.Start(t, "mysql")
		checkMySQL(t, server.DSN(), map[string]storedAs{
			"bin": {"BINARY(16)", "UUID_TO_BIN('%s')", uuids}, "swapped": {"BINARY(16)", "UUID_TO_BIN('%s', 1)", uuids},
			"varbin": {"VARBINARY(40)", "'%s'", uuids}, "padded": {"BINARY(40)", "'%s'", uuids}, "chars": {"CHAR(60)", "UPPER('%s')", uuids},
			"longs": {"BIGINT UNSIGNED", "%s", numbers}, "decimals": {"DECIMAL(22,2)", "%s", numbers}, "doubles": {"DOUBLE", "%s", []string{"1234567", "89000001"}},
			"zeros": {"INT", "'%s'", []string{"00000042", "00012345", "12345678"}}, "texts": {"VARCHAR(20)", "'%s'", []string{"007", "7", "a", "A"}},
			"documents": {"JSON", `'"%s"'`, uuids}, "bits": {"BINARY(8)", "UNHEX(LPAD(HEX(%s), 16, '0'))", numbers},
		})
	})
	t.Run("mariadb", func(t *testing.T) {
		server := mysqldtest.Start(t, "mariadb")
		checkMySQL(t, server.DSN(), map[string]storedAs{
			"bin": {"BINARY(16)", "UNHEX(REPLACE('%s', '-', ''))", uuids}, "uuids": {"UUID", "'%s'", uuids},
			"chars": {"CHAR(60)", "'%s'", uuids}, "longs": {"BIGINT UNSIGNED", "%s", numbers}, "filled": {"INT(8) ZEROFILL", "%s", []string{"00000042", "00012345"}},
		})
	})
	t.Run("postgres", func(t *testing.T) {
		server := postgrestest.Start(t)
		root := postgrestest.Open(t, server.DSN())
		mysqldtest.Exec(t, root, "CREATE TABLE surrogate (id SERIAL, run_id VARCHAR(20), at TIMESTAMPTZ DEFAULT now())", "INSERT INTO surrogate (run_id) VALUES ('r'), ('r')")
		checkStored(t, root, server.DSN(), map[string]storedAs{
			"uuids": {"UUID", "'%s'", uuids}, "bytes": {"BYTEA", "decode(replace('%s', '-', ''), 'hex')", uuids},
			"texts": {"BYTEA", "convert_to('%s', 'UTF8')", uuids}, "chars": {"CHAR(60)", "'%s'", uuids},
			"longs": {"BIGINT", "%s", numbers[:2]}, "numerics": {"NUMERIC(22,2)", "%s", numbers}, "documents": {"JSONB", `'"%s"'`, uuids},
		})
		mysqldtest.Exec(t, root, "INSERT INTO undated VALUES ('c', 'r', 'infinity')")
		if _, got := reconciled(t, server.DSN(), "SELECT id, at FROM undated WHERE run_id = ?", []string{"c"}, time.Now()); got.Missing != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func checkMySQL(t *testing.T, dsn string, all map[string]storedAs) {
	t.Helper()
	mysqldtest.Exec(t, mysqldtest.Open(t, dsn), "CREATE DATABASE shop")
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = "shop"
	root := mysqldtest.Open(t, c.FormatDSN())
	mysqldtest.Exec(t, root, "CREATE TABLE surrogate (id INT AUTO_INCREMENT PRIMARY KEY, run_id VARCHAR(20), at TIMESTAMP DEFAULT NOW())", "INSERT INTO surrogate (run_id) VALUES ('r'), ('r')")
	checkStored(t, root, c.FormatDSN(), all)
}

// The time zones in which a server's sessions may write local times are read, although ours are
// in UTC, and so is its clock.
func TestZonesOfServers(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	check := func(t *testing.T, dsn, query string, local string, root *sql.DB, want int64) {
		t.Helper()
		mysqldtest.Exec(t, root, local)
		now := time.Now().Truncate(time.Second)
		fact, c := reconciled(t, dsn, query, []string{"a"}, now)
		if !slices.Contains(fact.ZoneSeconds, want) || fact.ClockMs == nil || *fact.ClockMs > 5000 || *fact.ClockMs < -5000 {
			t.Errorf("%+v", fact)
		}
		r := record.Run{Plan: aPlan(t), Facts: record.Facts{T0: now.Add(-time.Second), Ledger: fact}}
		var zones []time.Duration
		for _, s := range fact.ZoneSeconds {
			zones = append(zones, time.Duration(s)*time.Second)
		}
		if ms, certain := r.LedgerWindow(0).Zone(c.Dates, zones); !certain || ms != 1000*want {
			t.Errorf("shifted by %d ms, %t: %+v, %+v", ms, certain, c.Dates, fact)
		}
	}
	for _, flavour := range []string{"mysql", "mariadb"} {
		t.Run(flavour, func(t *testing.T) {
			server := mysqldtest.Start(t, flavour)
			root := mysqldtest.Open(t, server.DSN())
			mysqldtest.Exec(t, root, "SET GLOBAL time_zone = '-05:00'", "CREATE DATABASE shop", "CREATE TABLE shop.t (id VARCHAR(20), run_id VARCHAR(20), at DATETIME(6))")
			service := mysqldtest.Open(t, server.DSN()) // whose session is in the server's zone
			check(t, server.DSN(), "SELECT id, at FROM shop.t WHERE run_id = ?", "INSERT INTO shop.t VALUES ('a', 'r', NOW(6))", service, -18000)
		})
	}
	t.Run("postgres", func(t *testing.T) {
		server := postgrestest.Start(t, "TimeZone=UTC")
		root := postgrestest.Open(t, server.DSN())
		mysqldtest.Exec(t, root, "CREATE TABLE t (id VARCHAR(20), run_id VARCHAR(20), at TIMESTAMP)", "CREATE ROLE service LOGIN PASSWORD 'p'", "GRANT ALL ON t TO service", "ALTER ROLE service SET timezone = 'Asia/Kolkata'")
		service := postgrestest.Open(t, server.UserDSN("service", "p", "postgres"))
		check(t, server.DSN(), "SELECT id, at FROM t WHERE run_id = ?", "INSERT INTO t VALUES ('a', 'r', now())", service, 19800)
	})
}
