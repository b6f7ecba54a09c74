//go:build live

package run

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// A cleanup of several statements removes every row of the run and no other, even if it is
// the victim of a deadlock with the service.
func TestCleanupRetriesAfterDeadlock(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.35)
	for _, flavour := range []string{"mysql", "mariadb"} {
		t.Run(flavour, func(t *testing.T) {
			server := mysqldtest.Start(t, flavour)
			root := mysqldtest.Open(t, server.DSN())
			mysqldtest.Exec(
				t, root, "CREATE DATABASE shop",
				"CREATE TABLE shop.a (id INT PRIMARY KEY, run_id VARCHAR(20), KEY (run_id))",
				"CREATE TABLE shop.b LIKE shop.a", "CREATE TABLE shop.c LIKE shop.a", "CREATE TABLE shop.weight (i INT)",
				"INSERT INTO shop.a VALUES (1, 'r'), (2, 'other')",
				"INSERT INTO shop.b VALUES (1, 'r'), (2, 'other')",
				"INSERT INTO shop.c VALUES (1, 'r'), (2, 'other')",
			)
			dsn, err := mysql.ParseDSN(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			dsn.DBName = "shop"
			l := &reconciler{run: "r", dsn: dsn.FormatDSN(), timeout: queryTimeout, ledgers: []flowLedger{{Ledger: &spec.Ledger{Cleanup: spec.Statements{
				"DELETE a, b FROM a STRAIGHT_JOIN b ON a.run_id = ? AND b.id = a.id AND b.run_id = ?",
				"DELETE FROM c WHERE run_id = ?",
			}}}}}

			// InnoDB rolls back the transaction that has changed fewer rows: the cleanup.
			work, err := root.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer work.Rollback()
			execIn(t, work, "INSERT INTO shop.weight SELECT 1 FROM information_schema.COLUMNS LIMIT 500")
			execIn(t, work, "SELECT id FROM shop.b WHERE id = 1 FOR UPDATE")
			cleaned := make(chan error, 1)
			go func() { cleaned <- l.clean(t.Context(), t.Context(), func(string) {}) }()
			awaitRowLockWaits(t, root, 1)
			before := deadlocks(t, root)
			execIn(t, work, "SELECT id FROM shop.a WHERE id = 1 FOR UPDATE")
			// The server counts it after it has woken the sessions up.
			polltest.Until(t, "there was a deadlock", func() bool { return deadlocks(t, root) > before })
			if err := work.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-cleaned; err != nil {
				t.Errorf("clean: %v", err)
			}
			for _, table := range []string{"a", "b", "c"} {
				var left string
				if err := root.QueryRow("SELECT GROUP_CONCAT(run_id) FROM shop." + table).Scan(&left); err != nil || left != "other" {
					t.Errorf("%s holds %q, %v", table, left, err)
				}
			}
		})
	}
}

func execIn(t *testing.T, tx *sql.Tx, statement string) {
	t.Helper()
	if _, err := tx.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// awaitRowLockWaits waits until that many sessions wait for a row lock.
func awaitRowLockWaits(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("%d sessions wait for a row lock", want), func() bool { return status(t, db, "Innodb_row_lock_current_waits") == want })
}

func status(t *testing.T, db *sql.DB, name string) (n int) {
	t.Helper()
	if err := db.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func deadlocks(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	query := "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'"
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
