package exam

import (
	"context"
	"fmt"
	"testing"
	"time"

	"assay/harness/judge/diagnose"
	"assay/harness/observe/wait"
	"assay/harness/servers/mysqld/mysqldtest"
)

// exercise is one case: what is set up, what is wrong with it, and what is to be
// named.
type exercise struct {
	name      string
	component string   // that is to blame
	statement string   // likewise; empty: none
	server    []string // options beside the usual ones
	service   []string // flags of the reference service
	scenario  string   // relative to this folder; empty: payments
	// rate is offered in the hold; a fifth of it at the baseline. Half or more
	// of the transactions, were nothing wrong, take less than bound.
	rate  float64
	bound float64 // ms
	// failures is the share of requests that may fail; 0: any.
	failures float64
	// prepare sets up what is not an option, for as long as the test lasts.
	prepare func(t *testing.T, r *room)
	// from goes on from the hold's beginning until ctx is done.
	from func(ctx context.Context, t *testing.T, r *room)
	// confined is the part that has the first CPU for itself, and no other; noise
	// is how many processes of a higher priority (nice) are on that CPU as well.
	confined    string
	noise, nice int
}

// spread is a pool that does not become the place where a slow database is
// waited for.
var spread = []string{"--pool-max-open", "300"}

var exercises = []exercise{
	{
		name: "nothing", component: diagnose.None, rate: 60, bound: 2500,
	},
	{
		name: "slow gateway", component: diagnose.Downstream, rate: 60, bound: 60,
		service: []string{"--gateway-latency", "40"},
	},
	{
		name: "binlog", component: wait.Binlog, rate: 60, bound: 60,
		prepare: func(t *testing.T, r *room) {
			slow(t, r, binlog, 5*time.Millisecond)
			readBinlog(t, r, 4)
		},
	},
	{
		name: "hot row", component: wait.RowLock, rate: 100, bound: 150,
		service: append([]string{"--accounts", "1", "--commits", "transaction"}, spread...),
		prepare: func(t *testing.T, r *room) { slow(t, r, r.redo(), 10*time.Millisecond) },
	},
	{
		name: "DDL under load", component: "metadata lock", rate: 50, bound: 60,
		from: func(ctx context.Context, t *testing.T, r *room) { migrate(ctx, t, r.open(t)) },
	},
	{
		name: "pool of 2", component: diagnose.Pool, rate: 80, bound: 150,
		service: []string{"--pool-max-open", "2"},
		prepare: func(t *testing.T, r *room) { slow(t, r, r.redo(), 2*time.Millisecond) },
	},
	{
		name: "pool per request", component: diagnose.ConnectionStorm, rate: 150, bound: 250, failures: 0.2,
		service: []string{"--pool-per-request", "--gateway-latency", "5"},
		prepare: func(t *testing.T, r *room) { global(t, r, "max_connections", "12") },
	},
	{
		name: "CPU-starved database", component: diagnose.CPU, rate: 50, bound: 60,
		service: spread, confined: theDatabase, noise: 8, nice: -5,
	},
	{
		name: "missing index", component: diagnose.CPU, rate: 30, bound: 150,
		statement: "FROM `orders` WHERE `customer` = ? examines", scenario: "testdata/customer.js", confined: theDatabase,
		prepare: func(t *testing.T, r *room) {
			fill(t, r, "orders", "customer VARCHAR(32) NOT NULL, amount INT NOT NULL", "CONCAT('customer-', 1 + n % 10000), n", 400_000)
		},
	},
	{
		name: "generator", component: diagnose.Generator, rate: 100, bound: 250, confined: theGenerator, noise: 4, nice: -20,
	},
	{
		name: "buffer pool of 16 MB", component: wait.BufferPool, rate: 100, bound: 50,
		scenario: "testdata/history.js",
		server:   []string{"--innodb-buffer-pool-size=16M", "--innodb-flush-method=O_DIRECT"},
		prepare: func(t *testing.T, r *room) {
			fill(t, r, "history", "note VARCHAR(1200) NOT NULL", "REPEAT('history ', 140)", 120_000)
			slow(t, r, "history.ibd", time.Millisecond)
		},
	},
	{
		name: "redo flush", component: wait.Commit, rate: 60, bound: 60,
		server:  []string{"--skip-log-bin"},
		prepare: func(t *testing.T, r *room) { slow(t, r, r.redo(), 5*time.Millisecond) },
	},
}

// slow makes the disk slow for some files while the test lasts.
func slow(t *testing.T, r *room, pattern string, delay time.Duration) {
	t.Helper()
	before := r.disk.Calls(pattern)
	r.disk.Slow(pattern, delay)
	t.Cleanup(func() {
		r.disk.Slow(pattern, 0)
		if n := r.disk.Calls(pattern) - before; n < 100 {
			t.Errorf("%d calls on %s were delayed: nothing was injected", n, pattern)
		}
	})
}

// global sets a variable of the server while the test lasts.
func global(t *testing.T, r *room, name, value string) {
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

// fill makes a table of rows that are numbered from 1, where n is the number.
func fill(t *testing.T, r *room, table, columns, values string, rows int) {
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
