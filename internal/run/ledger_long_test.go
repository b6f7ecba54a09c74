//go:build long

package run

import (
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// A ledger's table of 5 million rows is read whether they are those of other runs, without an
// index, or of this one, of which it then also stores the identities. Neither takes much
// memory.
func TestLongLedgerOfMillions(t *testing.T) {
	server := mysqldtest.Start(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, root, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id VARCHAR(20), run_id VARCHAR(20), at DATETIME(6))",
		"INSERT INTO shop.orders SELECT seq, 'many', NOW(6) FROM shop.seq_1_to_5000000", "INSERT INTO shop.orders SELECT seq, 'few', NOW(6) FROM shop.seq_1_to_100")
	dsn.DBName = "shop"
	for run, rows := range map[string]int64{"few": 100, "many": 5_000_000} {
		t.Run(run, func(t *testing.T) {
			p := aPlan(t)
			p.Run = run
			w, err := record.Create(filepath.Join(t.TempDir(), "run"), p)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			acks := []ledger.Entry{{Hash: ledger.HashOf(run, "1")}, {Hash: ledger.HashOf(run, "100")}, {Hash: ledger.HashOf(run, "never stored")}}
			if err := w.Acknowledged("worker/0", 1, acks); err != nil {
				t.Fatal(err)
			}
			heap := peakHeap(t)
			l := &reconciler{run: run, dsn: dsn.FormatDSN(), wait: time.Second, limit: persistLimit, timeout: queryTimeout, ledgers: []flowLedger{{Ledger: &spec.Ledger{Persisted: "SELECT id, at FROM orders WHERE run_id = ?"}}}}
			fact, err := l.reconcile(t.Context(), w)
			if fact.State != record.StateOK || err != nil {
				t.Fatalf("%+v, %v", fact, err)
			}
			c, err := w.CompareLedger()
			if err != nil || c.Persisted != rows || c.Missing != 1 || c.Acknowledged != 3 || c.Unacknowledged != rows-2 {
				t.Errorf("%+v, %v", c, err)
			}
			if grown := heap(); grown > 300<<20 {
				t.Errorf("it took %d MiB", grown>>20)
			}
		})
	}
}

// peakHeap returns a function that returns the most by which the heap has grown since, bytes.
func peakHeap(t *testing.T) func() uint64 {
	t.Helper()
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := inUse()
	var most atomic.Uint64
	most.Store(before)
	ended := make(chan struct{})
	go func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
				most.Store(max(most.Load(), inUse()))
			}
		}
	}()
	return func() uint64 {
		close(ended)
		return most.Load() - before
	}
}
