//go:build live

package sql_test

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

const scenarios = "../../../scenarios/"

// Writes to a server are read at its replica: stale in the default mode while the replica
// waits, and never in the causal mode; and the time until they are visible is that of the
// replica.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.65)
	testStaleReads(t, "mariadb", 20)
}

func testStaleReads(t *testing.T, flavour string, each int) {
	t.Helper()
	var args []string
	if flavour == "mysql" {
		args = []string{"--gtid-mode=ON", "--enforce-gtid-consistency=ON"}
	}
	source := mysqldtest.StartInMemory(t, flavour, args...)
	replica := mysqldtest.Replica(t, source, args...)
	falter(t, mysqldtest.Open(t, replica.DSN())) // before the schema: setup waits for it
	a := inSchema(t, source.DSN(), "shop")
	nodes := "ASSAY_DB_NODES=a=" + a + " b=" + withSchema(t, replica.DSN(), "shop")
	samples, _ := runScript(t, 0, scenarios+"stale-reads.js", []string{"--vus", "2", "--iterations", strconv.Itoa(2 * each)}, nodes, "STALE_READS_LIMIT=30000")
	for _, mode := range []string{"mode=default", "mode=causal"} {
		for _, metric := range []string{"stale_reads", "write_time", "read_time", "visible_after"} {
			if n := len(values(samples, metric, mode)); n != each {
				t.Errorf("%s in %s has %d samples, want %d", metric, mode, n, each)
			}
		}
	}
	if n := sum(values(samples, "stale_reads", "mode=causal")); n != 0 {
		t.Errorf("%g stale reads in the causal mode", n)
	}
	if n := sum(values(samples, "stale_reads", "mode=default")); n == 0 {
		t.Error("no stale read in the default mode")
	}
	if left := number(t, a, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop'"); left != 0 {
		t.Errorf("%d tables are left", left)
	}

	// Servers that do not replicate are refused, before any load.
	_, log := runScript(t, 107, scenarios+"stale-reads.js", []string{"--iterations", "1"},
		"ASSAY_DB_NODES=a="+withSchema(t, replica.DSN(), "shop")+" b="+a, "STALE_READS_LIMIT=200")
	contains(t, log, "do they replicate")
}

// falter makes a replica apply nothing for 3 s, and then only at moments, until the test ends:
// a fast one could show every write at once.
func falter(t *testing.T, replica *sql.DB) {
	do := func(statement string) {
		if _, err := replica.ExecContext(context.Background(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	const moment, much = 20 * time.Millisecond, 300 * time.Millisecond
	stop := make(chan struct{})
	var done sync.WaitGroup
	do("STOP REPLICA SQL_THREAD")
	done.Go(func() {
		for pause := 3 * time.Second; ; pause = much {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			do("START REPLICA SQL_THREAD")
			time.Sleep(moment)
			do("STOP REPLICA SQL_THREAD")
		}
	})
	t.Cleanup(func() { close(stop); done.Wait() })
}

// Each way of connecting has its own times, and the proxy's are those of the other node.
func TestConnections(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	server := mysqldtest.StartInMemory(t, "mariadb")
	args := []string{"--vus", "3", "--iterations", "90"}
	const counter = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'CONNECTIONS'"
	before := number(t, server.DSN(), counter)
	samples, _ := runScript(t, 0, scenarios+"connections.js", args,
		"ASSAY_DB_NODES=a="+server.DSN()+" proxy="+server.DSN(), "CONNECTION_PATHS=direct proxied pooled", "CONNECTION_POOL=2")
	for _, path := range []string{"path=direct", "path=proxied", "path=pooled"} {
		for _, metric := range []string{"connection_open", "connection_first_query", "connection_close", "sql_connecting"} {
			if n := len(values(samples, metric, path)); n != 30 {
				t.Errorf("%s by %s has %d samples, want 30", metric, path, n)
			}
		}
	}
	// 30 direct, 30 proxied, at most 2 of the pool, and the test's own second one.
	if opened := number(t, server.DSN(), counter) - before; opened < 62 || opened > 63 {
		t.Errorf("the server counts %d connections", opened)
	}
	_, log := runScript(t, 107, scenarios+"connections.js", nil, "ASSAY_DB_NODES=a=x", "CONNECTION_PATHS=direct proxied")
	contains(t, log, "ASSAY_DB_NODES has no node proxy, only a")
	_, log = runScript(t, 107, scenarios+"connections.js", nil)
	contains(t, log, "ASSAY_DB is not set")
}
