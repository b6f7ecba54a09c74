//go:build live

package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// The persisted side is read until no acknowledged transaction is missing or the wait
// ends. The record holds all rows of the last read, or none where it did not succeed.
func TestReconcile(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	server := mysqldtest.Start(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, root, "CREATE DATABASE shop")
	dsn.DBName = "shop"
	const waits, minute = 300 * time.Millisecond, time.Minute
	for name, c := range map[string]struct {
		wait time.Duration
		// timeout is the limit of a statement; 0: the limit of a run.
		timeout   time.Duration
		meanwhile func(t *testing.T, cancel func(), ledgerDir string) // while the first row is there and the second is not
		want      record.LedgerFact
		missing   int64
		writes    bool
	}{
		"late": {wait: minute, meanwhile: func(t *testing.T, _ func(), _ string) {
			t.Helper()
			mysqldtest.Exec(t, root, "INSERT INTO shop.late VALUES ('b', 'r', NOW(6))")
		}, want: record.LedgerFact{State: record.StateOK}, writes: true},
		"lost":        {wait: waits, want: record.LedgerFact{State: record.StateOK}, missing: 1, writes: true},
		"interrupted": {wait: minute, meanwhile: func(_ *testing.T, cancel func(), _ string) { cancel() }, want: record.LedgerFact{State: record.StateFailed, Reason: "the run was interrupted"}, writes: true},
		"table_dropped": {wait: minute, meanwhile: func(t *testing.T, _ func(), _ string) {
			t.Helper()
			mysqldtest.Exec(t, root, "DROP TABLE shop.table_dropped")
		}, want: record.LedgerFact{State: record.StateFailed, Reason: "Table 'shop.table_dropped' doesn't exist"}, writes: true},
		"folder_removed": {wait: 3 * time.Second, meanwhile: func(t *testing.T, _ func(), dir string) {
			t.Helper()
			if err := os.RemoveAll(dir); err != nil { // nothing can be written to it either
				t.Error(err)
			}
		}, want: record.LedgerFact{State: record.StateOK}},
		// The database hangs at the query, here by a lock: that is no data, and no hang.
		"locked": {wait: minute, timeout: 2 * time.Second, meanwhile: func(t *testing.T, _ func(), _ string) {
			t.Helper()
			locker := mysqldtest.Open(t, server.DSN()) // closed with the subtest, which releases the lock
			locker.SetMaxOpenConns(1)
			mysqldtest.Exec(t, locker, "LOCK TABLES shop.locked WRITE")
		}, want: record.LedgerFact{State: record.StateFailed, Reason: "timed out"}, writes: true},
	} {
		t.Run(name, func(t *testing.T) {
			mysqldtest.Exec(
				t, root, "CREATE TABLE shop."+name+" (id VARCHAR(20), run_id VARCHAR(20), at DATETIME(6))",
				"INSERT INTO shop."+name+" VALUES ('a', 'r', NOW(6)), ('b', 'other', NOW(6))",
			)
			dir := filepath.Join(t.TempDir(), "run")
			w, err := record.Create(dir, aPlan(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			acks := []ledger.Entry{{Hash: ledger.HashOf("r", "a")}, {Hash: ledger.HashOf("r", "b")}}
			if err := w.Acknowledged("worker/0", 1, acks); err != nil {
				t.Fatal(err)
			}
			ledgerDir := filepath.Join(dir, record.EvidenceDir, "ledger")
			persisted := filepath.Join(ledgerDir, "persisted.zst")
			ctx, cancel := context.WithCancel(t.Context())
			var changes sync.WaitGroup
			defer changes.Wait()
			defer cancel()
			changes.Go(func() {
				for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
					if _, err := os.Stat(persisted); err == nil && c.meanwhile != nil {
						c.meanwhile(t, cancel, ledgerDir)
						return
					}
				}
			})
			l := &reconciler{run: "r", dsn: dsn.FormatDSN(), wait: c.wait, limit: time.Minute, timeout: cmp.Or(c.timeout, queryTimeout), ledgers: []flowLedger{{Ledger: &spec.Ledger{Persisted: "SELECT id, at FROM " + name + " WHERE run_id = ?"}}}}
			fact, writeError := l.reconcile(ctx, w)
			if fact.State != c.want.State || fact.Reason != c.want.Reason || (writeError == nil) != c.writes {
				t.Errorf("%+v, %v, want %+v", fact, writeError, c.want)
			}
			files, err := os.ReadDir(ledgerDir)
			if want := map[string]int{record.StateOK: 2, record.StateFailed: 1}[fact.State]; c.writes && (err != nil || len(files) != want) {
				t.Errorf("files %v, %v", files, err)
			}
			if fact.State != record.StateOK || !c.writes {
				return
			}
			if got, err := w.CompareLedger(); err != nil || got.Missing != c.missing || got.Acknowledged != 2 {
				t.Errorf("%+v, %v, want %d missing", got, err, c.missing)
			}
		})
	}
}

// Rows that are late are not missing: the wait goes on while further rows appear, and what
// is missing when even that is over may still be late. A row that never comes is missing.
func TestReconcileWaitsWhileRowsAppear(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	server := mysqldtest.Start(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, root, "CREATE DATABASE shop")
	dsn.DBName = "shop"
	for name, c := range map[string]struct {
		rows       int           // number of rows that are stored in the end
		wait       time.Duration // for the next row
		limit      time.Duration
		unfinished bool
	}{
		"complete":   {rows: 40, wait: 3 * time.Second, limit: time.Minute},
		"one_lost":   {rows: 39, wait: 3 * time.Second, limit: time.Minute},
		"unfinished": {rows: 1 << 20, wait: 3 * time.Second, limit: time.Second, unfinished: true},
	} {
		t.Run(name, func(t *testing.T) {
			mysqldtest.Exec(t, root, "CREATE TABLE shop."+name+" (id VARCHAR(20), run_id VARCHAR(20), at DATETIME(6))")
			w, err := record.Create(filepath.Join(t.TempDir(), "run"), aPlan(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			const acknowledged = 40
			var acks []ledger.Entry
			for i := range acknowledged {
				acks = append(acks, ledger.Entry{Hash: ledger.HashOf("r", fmt.Sprint(i))})
			}
			if err := w.Acknowledged("worker/0", 1, acks); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var storing sync.WaitGroup
			defer storing.Wait()
			defer cancel()
			// Slower in total than the wait for one row.
			storing.Go(func() {
				for i := 0; i < c.rows && ctx.Err() == nil; i++ {
					id := fmt.Sprint(i)
					if c.unfinished {
						id = fmt.Sprint("other-", i)
					}
					mysqldtest.Exec(t, root, "INSERT INTO shop."+name+" VALUES ('"+id+"', 'r', NOW(6))")
					time.Sleep(100 * time.Millisecond)
				}
			})
			l := &reconciler{run: "r", dsn: dsn.FormatDSN(), wait: c.wait, limit: c.limit, timeout: queryTimeout, ledgers: []flowLedger{{Ledger: &spec.Ledger{Persisted: "SELECT id, at FROM " + name + " WHERE run_id = ?;"}}}}
			l.await(t.Context(), acknowledged, func(string) {})
			fact, err := l.reconcile(t.Context(), w)
			if err != nil || fact.State != record.StateOK || fact.Unfinished != c.unfinished {
				t.Errorf("%+v, %v", fact, err)
			}
			got, err := w.CompareLedger()
			if want := int64(max(0, acknowledged-c.rows)); err != nil || !c.unfinished && got.Missing != want || c.unfinished && got.Missing != acknowledged {
				t.Errorf("%+v, %v, want %d missing", got, err, want)
			}
		})
	}
}

// A cleanup whose statement removes some rows at a time removes them all.
func TestCleanupInChunks(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.35)
	server := mysqldtest.Start(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(
		t, root, "CREATE DATABASE shop", "CREATE TABLE shop.events (run_id VARCHAR(20), KEY (run_id))",
		"INSERT INTO shop.events SELECT IF(seq > 10, 'r', 'other') FROM shop.seq_1_to_20000",
	)
	l := &reconciler{run: "r", dsn: server.DSN(), timeout: queryTimeout, ledgers: []flowLedger{{Ledger: &spec.Ledger{Cleanup: spec.Statements{"DELETE FROM shop.events WHERE run_id = ? LIMIT 1500"}}}}}
	if err := l.clean(t.Context(), t.Context(), func(string) {}); err != nil {
		t.Error(err)
	}
	var left int
	if err := root.QueryRow("SELECT COUNT(*) FROM shop.events").Scan(&left); err != nil || left != 10 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

// aPlan is that of a run r.
func aPlan(t *testing.T) record.Plan {
	t.Helper()
	p := spec.Profile{Name: "r", Flows: []spec.Flow{{Timeout: time.Second, Load: spec.Load{Target: 10, Hold: 10 * time.Second}}}}
	load, err := plan.New(p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return record.Plan{Schema: "assay/plan/v1", Run: "r", Profile: p, Load: load, Scope: spec.ScopeSmoke}
}
