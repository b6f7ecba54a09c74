package postgrestest

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"assay.dev/assay/internal/testing/polltest"
)

// Open opens a pool that ends with the test.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Clients is the condition of all sessions that are not the server's own.
const Clients = "backend_type = 'client backend'"

// Await waits until n sessions of pg_stat_activity meet the condition.
func Await(t testing.TB, db *sql.DB, n int, condition string) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("%d sessions: %s", n, condition), func() bool {
		var now int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE " + condition).Scan(&now)
		return err == nil && now == n
	})
}
