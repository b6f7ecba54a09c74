//go:build long

package exam

import (
	"context"
	"fmt"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/mysqldtest"
)

// faultCase is a system with one fault, and what is expected of it.
type faultCase struct {
	expectation
	server   []string // additional options of the database server
	service  []string // flags of the reference service
	scenario string   // relative to this folder; empty: payments
	// rate is offered in the hold, and a fifth of it at the baseline. The SLO is that
	// the median is less than bound, which holds without the fault.
	rate  float64
	bound float64 // ms
	// failures is the share of requests that may fail; 0: any.
	failures float64
	// prepare sets up the fault until the test ends, if it is not an option.
	prepare func(t *testing.T, r *testbed)
	// during injects the fault from the start of the hold until ctx is done.
	during func(ctx context.Context, t *testing.T, r *testbed)
	// confined is the part that runs on the first CPU, with all others on the other
	// CPUs; busy is the number of busy processes on that CPU, of priority nice.
	confined   string
	busy, nice int
}

// largePool is large enough for requests to wait in the database, not for a
// connection.
var largePool = []string{"--pool-max-open", "300"}

var cases = []faultCase{
	{
		expectation: expected("nothing"), rate: 60, bound: 2500,
	},
	{
		expectation: expected("slow gateway"), rate: 60, bound: 60,
		service: []string{"--gateway-latency", "40"},
	},
	{
		expectation: expected("binlog"), rate: 60, bound: 60,
		prepare: func(t *testing.T, r *testbed) {
			slow(t, r, binlog, 5*time.Millisecond)
			readBinlog(t, r, 4)
		},
	},
	{
		expectation: expected("hot row"), rate: 100, bound: 150,
		service: append([]string{"--accounts", "1", "--commits", "transaction"}, largePool...),
		prepare: func(t *testing.T, r *testbed) { slow(t, r, r.redo(), 10*time.Millisecond) },
	},
	{
		expectation: expected("DDL under load"), rate: 50, bound: 60,
		during: func(ctx context.Context, t *testing.T, r *testbed) { migrate(ctx, t, r.open(t)) },
	},
	{
		expectation: expected("pool of 2"), rate: 80, bound: 150,
		service: []string{"--pool-max-open", "2"},
		prepare: func(t *testing.T, r *testbed) { slow(t, r, r.redo(), 2*time.Millisecond) },
	},
	{
		expectation: expected("pool per request"), rate: 150, bound: 250, failures: 0.2,
		service: []string{"--pool-per-request", "--gateway-latency", "5"},
		prepare: func(t *testing.T, r *testbed) { global(t, r, "max_connections", "12") },
	},
	{
		expectation: expected("CPU-starved database"), rate: 50, bound: 60,
		service: largePool, confined: confineDatabase, busy: 8, nice: -5,
	},
	{
		expectation: expected("missing index"), rate: 30, bound: 60,
		scenario: "testdata/customer.js", confined: confineDatabase,
		prepare: func(t *testing.T, r *testbed) {
			fill(t, r, "orders", "customer VARCHAR(32) NOT NULL, amount INT NOT NULL", "CONCAT('customer-', 1 + n % 10000), n", 400_000)
		},
	},
	{
		expectation: expected("generator"), rate: 100, bound: 250, confined: confineGenerator, busy: 8, nice: -20,
	},
	{
		expectation: expected("buffer pool of 16 MB"), rate: 100, bound: 50,
		scenario: "testdata/history.js",
		server:   []string{"--innodb-buffer-pool-size=16M", "--innodb-flush-method=O_DIRECT"},
		prepare: func(t *testing.T, r *testbed) {
			fill(t, r, "history", "note VARCHAR(1200) NOT NULL", "REPEAT('history ', 140)", 120_000)
			slow(t, r, "history.ibd", time.Millisecond)
		},
	},
	{
		expectation: expected("redo flush"), rate: 60, bound: 60,
		server:  []string{"--skip-log-bin"},
		prepare: func(t *testing.T, r *testbed) { slow(t, r, r.redo(), 5*time.Millisecond) },
	},
	{
		expectation: expected("slow wire"), rate: 50, bound: 150, during: slowDown,
		service: []string{"--pool-max-open", "20"},
	},
	{
		expectation: expected("stopped service"), rate: 50, bound: 60, during: stopAndContinue,
	},
	{
		expectation: expected("bulk job"), rate: 50, bound: 45, confined: confineDatabase,
		prepare: prepareBulkJob, during: bulkJob,
	},
	{
		expectation: expected("row held by a stranger"), rate: 50, bound: 60, during: holdRows,
	},
	{
		expectation: expected("global read lock"), rate: 50, bound: 60, during: lockReads,
	},
}

// slow delays disk calls on the files of a pattern until the test ends.
func slow(t *testing.T, r *testbed, pattern string, delay time.Duration) {
	t.Helper()
	before := r.disk.Calls(pattern)
	r.disk.Slow(pattern, delay)
	t.Cleanup(func() {
		r.disk.Slow(pattern, 0)
		if n := r.disk.Calls(pattern) - before; n < 100 {
			t.Errorf("%d calls on %s were delayed, want at least 100: the fault was not injected", n, pattern)
		}
	})
}

// global sets a variable of the server until the test ends.
func global(t *testing.T, r *testbed, name, value string) {
	t.Helper()
	db := r.open(t)
	db.SetMaxOpenConns(1)
	var before string
	if err := db.QueryRowContext(t.Context(), "SELECT @@GLOBAL."+name).Scan(&before); err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, db, "SET GLOBAL "+name+" = "+value)
	t.Cleanup(func() {
		if _, err := db.Exec("SET GLOBAL " + name + " = " + before); err != nil {
			t.Error(err)
		}
	})
}

// fill creates a table with an id from 1 and more columns; n in values is id - 1.
func fill(t *testing.T, r *testbed, table, columns, values string, rows int) {
	t.Helper()
	db := r.open(t)
	db.SetMaxOpenConns(1)
	const chunk = 10_000
	mysqldtest.Exec(
		t, db,
		"DROP TABLE IF EXISTS "+table,
		fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, %s)", table, columns),
		"SET SESSION sql_log_bin = 0",
	)
	for first := 0; first < rows; first += chunk {
		mysqldtest.Exec(t, db, fmt.Sprintf("INSERT INTO %s SELECT n + 1, %s FROM (SELECT %d + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM %s a, %[4]s b, %[4]s c, %[4]s e) numbers",
			table, values, first, digits))
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP TABLE " + table); err != nil {
			t.Error(err)
		}
	})
}

const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
