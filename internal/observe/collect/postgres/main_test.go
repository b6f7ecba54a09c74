//go:build live

package postgres_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// bench is a server with a table to load.
type bench struct {
	*postgrestest.Server
	dsn string  // DSN of the superuser, in the database of the load
	db  *sql.DB // open at dsn
	// rest is the pause of each session of a load after each statement.
	rest time.Duration
}

const (
	shop    = "shop"
	items   = 2000
	counted = "shared_preload_libraries=pg_stat_statements"
)

// newBench starts a server with its data in memory. With the setting counted it installs
// pg_stat_statements.
func newBench(t *testing.T, settings ...string) *bench {
	t.Helper()
	return benchOf(t, postgrestest.StartInMemory(t, settings...), settings)
}

// newBenchOnDisk is newBench for tests in which commits wait for the disk.
func newBenchOnDisk(t *testing.T, settings ...string) *bench {
	t.Helper()
	return benchOf(t, postgrestest.Start(t, settings...), settings)
}

func benchOf(t *testing.T, s *postgrestest.Server, settings []string) *bench {
	t.Helper()
	b := &bench{Server: s, rest: samplingtest.Rest}
	mysqldtest.Exec(t, postgrestest.Open(t, b.DSN()), "CREATE DATABASE "+shop)
	b.dsn = b.DatabaseDSN(shop)
	b.db = postgrestest.Open(t, b.dsn)
	b.db.SetMaxIdleConns(64)
	samplingtest.Connect(t, b.db, 8)
	mysqldtest.Exec(t, b.db,
		"CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL)",
		fmt.Sprintf("INSERT INTO item SELECT i, 0 FROM generate_series(0, %d) i", items-1))
	for _, s := range settings {
		if s == counted {
			mysqldtest.Exec(t, b.db, "CREATE SCHEMA \"stats schema\"", "CREATE EXTENSION pg_stat_statements SCHEMA \"stats schema\"")
		}
	}
	return b
}

// load runs statements made by next from n sessions, until stop is called.
func (b *bench) load(t *testing.T, n int, next func() string) (stop func()) {
	t.Helper()
	return samplingtest.Load(t, b.db, n, b.rest, next)
}

func update() string {
	return fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", rand.IntN(items))
}
func hotRow() string { return "UPDATE item SET n = n + 1 WHERE id = 7" }

// heldRow is hotRow for a load in which each session holds the row for a while.
func heldRow() string {
	return "WITH held AS (UPDATE item SET n = n + 1 WHERE id = 7 RETURNING n) SELECT pg_sleep(0.02) FROM held"
}

// collector returns a collector that is closed at the end of the test.
func collector(t *testing.T, dsn string) sampling.Collector {
	t.Helper()
	c := postgres.New(dsn)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func started(t *testing.T, dsn string) sampling.Collector {
	t.Helper()
	c := collector(t, dsn)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
