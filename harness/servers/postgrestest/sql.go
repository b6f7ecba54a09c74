package postgrestest

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
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
