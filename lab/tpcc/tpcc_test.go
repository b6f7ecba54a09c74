//go:build live

package tpcc_test

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/lab/tpcc"
)

// TestMain also runs k6, when the test binary is re-executed with the argument k6.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

func load(t *testing.T, db *sql.DB, schema string, s tpcc.Scale) error {
	t.Helper()
	return tpcc.Load(t.Context(), db, schema, s, func(int64) {})
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := tpcc.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// violated are the names of the conditions that do not hold.
func violated(t *testing.T, db *sql.DB, schema string) (names []string) {
	t.Helper()
	results, err := tpcc.Check(t.Context(), db, schema)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 {
		t.Fatalf("%d conditions", len(results))
	}
	for _, r := range results {
		if r.Violated > 0 {
			names = append(names, r.Condition)
			if len(r.Rows) == 0 || len(r.Rows) > r.Violated {
				t.Errorf("%s: %d rows of %d", r.Condition, len(r.Rows), r.Violated)
			}
		}
	}
	return names
}

func number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// transact runs a script with eight VUs, and returns how many transactions were
// acknowledged.
func transact(t *testing.T, script string, iterations int, env ...string) (acknowledged int) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, "k6", "run", "--no-color", "--vus", "8", "--iterations", strconv.Itoa(iterations), script)
	cmd.Env = append(os.Environ(), append(env, "K6_NO_USAGE_REPORT=true")...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil || strings.Contains(output.String(), "level=error") {
		t.Fatalf("%s: %v\n%s", script, err, output.String())
	}
	m := regexp.MustCompile(`ledger_acknowledged\.*: (\d+)`).FindStringSubmatch(output.String())
	if m == nil {
		t.Fatalf("nothing was acknowledged:\n%s", output.String())
	}
	acknowledged, _ = strconv.Atoi(m[1])
	return acknowledged
}

const script = "../../scenarios/tpcc.js"

// The conditions hold after a load and after transactions that conflict, and each one that
// was acknowledged is stored once; a transaction that forgets a statement is caught by the
// condition on what it forgot.
func TestConditions(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	testConditions(t, "mariadb", 80)
}

func testConditions(t *testing.T, flavour string, transactions int) {
	t.Helper()
	server := mysqldtest.StartInMemory(t, flavour)
	db := open(t, server.DSN())
	for _, schema := range []string{"tpcc", "tpcc2"} {
		if err := load(t, db, schema, small); err != nil {
			t.Fatal(err)
		}
	}
	if found := violated(t, db, "tpcc"); found != nil {
		t.Fatalf("after the load: %q", found)
	}
	dsn := "ASSAY_DB=" + server.DSN()
	orders := number(t, db, "SELECT COUNT(*) FROM tpcc.orders")

	acknowledged := transact(t, script, transactions, dsn)
	if found := violated(t, db, "tpcc"); found != nil {
		t.Errorf("after transactions: %q", found)
	}
	if stored := number(t, db, "SELECT COUNT(DISTINCT id) FROM tpcc.tpcc_ledger"); stored != acknowledged || stored != number(t, db, "SELECT COUNT(*) FROM tpcc.tpcc_ledger") {
		t.Errorf("%d acknowledged, %d stored", acknowledged, stored)
	}
	added, paid := number(t, db, "SELECT COUNT(*) FROM tpcc.orders")-orders, number(t, db, "SELECT COUNT(*) FROM tpcc.history")-2*10*20
	if !likely(added, transactions, 0.45) || !likely(paid, transactions, 0.43) {
		t.Errorf("%d orders, %d payments", added, paid)
	}

	// Two targets in turn have half of the transactions each.
	transact(t, script, 60, dsn, "ASSAY_DB_NODES=a="+server.DSN()+" b="+server.DSN(), "TPCC_TARGETS=a/tpcc b/tpcc2", "ASSAY_RUN=both")
	for _, schema := range []string{"tpcc", "tpcc2"} {
		if n := number(t, db, "SELECT COUNT(*) FROM "+schema+".tpcc_ledger WHERE run_id = 'both'"); n < 15 || n > 30 {
			t.Errorf("%d transactions in %s", n, schema)
		}
		if found := violated(t, db, schema); found != nil {
			t.Errorf("%s, after both: %q", schema, found)
		}
	}

	transact(t, "testdata/forgetful.js", 40, dsn, "SKIPPED=^(UPDATE district SET d_ytd|INSERT INTO order_line|INSERT INTO new_order)")
	want := []string{
		"D_NEXT_O_ID - 1 is the last order and the last new order", "W_YTD is the sum of D_YTD", "the sum of O_OL_CNT is the number of order lines",
	}
	if found := violated(t, db, "tpcc"); !slices.Equal(found, want) {
		t.Errorf("without three statements: %q are violated", found)
	}
	mysqldtest.Exec(t, db, "DELETE FROM tpcc2.new_order WHERE no_o_id = 18 AND no_w_id = 2 AND no_d_id = 4")
	if found := violated(t, db, "tpcc2"); !slices.Equal(found, []string{"new orders have no gap"}) {
		t.Errorf("with a gap: %q are violated", found)
	}
}

// likely reports whether n of all is within five standard deviations of the share.
func likely(n, all int, share float64) bool {
	mean := share * float64(all)
	return math.Abs(float64(n)-mean) <= 5*math.Sqrt(mean*(1-share))
}

// What a script says to who has loaded nothing, or not everything.
func TestNotLoaded(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	server := mysqldtest.StartInMemory(t, "mariadb")
	db := open(t, server.DSN())
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), executable, "k6", "run", "--quiet", script)
		cmd.Env = append(os.Environ(), "ASSAY_DB="+server.DSN())
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	says("load it with: assay-lab tpcc load --warehouses N --schema tpcc")
	if err := load(t, db, "tpcc", small); err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, db, "UPDATE tpcc.tpcc_load SET complete = 0") // as a kill leaves it
	says("the load of schema tpcc is not complete")

	// The next load replaces it; another is refused; the same scale and seed give the same rows.
	if err := load(t, db, "tpcc", small); err != nil {
		t.Fatal(err)
	}
	if err := load(t, db, "tpcc", small); err == nil || !strings.Contains(err.Error(), "holds a load of 2 warehouses") {
		t.Errorf("a second load: %v", err)
	}
	if err := load(t, db, "again", small); err != nil {
		t.Fatal(err)
	}
	for _, table := range tpcc.Tables() {
		if table == "tpcc_ledger" || table == "history" { // numbered in the order of arrival
			continue
		}
		rows, err := db.QueryContext(t.Context(), "CHECKSUM TABLE tpcc."+table+", again."+table)
		if err != nil {
			t.Fatal(err)
		}
		var name string
		var sums [2]int64
		for i := range sums {
			if !rows.Next() || rows.Scan(&name, &sums[i]) != nil {
				t.Fatalf("no checksum of %s: %v", table, rows.Err())
			}
		}
		_ = rows.Close()
		if sums[0] != sums[1] || sums[0] == 0 {
			t.Errorf("%s: %v", table, sums)
		}
	}

	// A load that is interrupted leaves nothing behind, and nothing of another origin is touched.
	ctx, cancel := context.WithCancel(t.Context())
	err = tpcc.Load(ctx, db, "half", tpcc.Scale{Warehouses: 4, Items: 5000, Customers: 100, Seed: 1}, func(int64) { cancel() })
	if err == nil || number(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'half'") != 0 {
		t.Errorf("interrupted: %v, and the schema is left", err)
	}
	mysqldtest.Exec(t, db, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)", "INSERT INTO shop.orders VALUES (1)")
	for what, err := range map[string]error{"load": load(t, db, "shop", small), "drop": tpcc.Drop(t.Context(), db, "shop")} {
		if err == nil || number(t, db, "SELECT COUNT(*) FROM shop.orders") != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := tpcc.Drop(t.Context(), db, "again"); err != nil || number(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'again'") != 0 {
		t.Errorf("drop: %v", err)
	}
}
