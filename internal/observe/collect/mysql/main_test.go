//go:build live

package mysql_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// TestMain also runs this binary as a process that collects until it is killed.
func TestMain(m *testing.M) {
	if dsn := os.Getenv(collectEnv); dsn != "" {
		os.Exit(collectAndWait(dsn))
	}
	os.Exit(m.Run())
}

// bench is a server with a table to load.
type bench struct {
	flavour string
	server  *mysqld.Server
	rest    time.Duration // pause of each session of a load after each statement
	dsn     string        // DSN of root, with the schema of the load
	db      *sql.DB       // open at dsn
}

const (
	schema = "shop"
	items  = 2000
)

func newBench(t *testing.T, flavour string, server *mysqld.Server) *bench {
	t.Helper()
	dsn := server.DSN()
	mysqldtest.Exec(t, mysqldtest.Open(t, dsn), "CREATE DATABASE "+schema)
	b := &bench{flavour: flavour, server: server, rest: samplingtest.Rest, dsn: with(t, dsn, func(c *driver.Config) { c.DBName = schema })}
	b.db = mysqldtest.Open(t, b.dsn)
	b.db.SetMaxIdleConns(64)
	samplingtest.Connect(t, b.db, 8)
	mysqldtest.Exec(t, b.db,
		"CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO item SELECT a.n * 100 + b.n, 0 FROM %s a, %s b WHERE a.n < %d", digits, digits, items/100))
	return b
}

// digits is a table of the numbers from 0 to 99.
const digits = "(SELECT x.d * 10 + y.d AS n FROM (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) x," +
	" (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) y)"

func with(t *testing.T, dsn string, change func(*driver.Config)) string {
	t.Helper()
	c, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	return c.FormatDSN()
}

// load runs statements made by next from n sessions, until stop is called.
func (b *bench) load(t *testing.T, n int, next func() string) (stop func()) {
	t.Helper()
	return samplingtest.Load(t, b.db, n, b.rest, next)
}

func update() string { return fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", rand.IntN(items)) }
func hotRow() string { return "UPDATE item SET n = n + 1 WHERE id = 7" }

// heldRow is hotRow for a load in which each session holds the row for a while.
func heldRow() string { return "UPDATE item SET n = n + 1 + SLEEP(0.02) WHERE id = 7" }

// scan is a statement that reads many rows, and returns none.
func scan() string {
	return "SELECT COUNT(*) FROM item a, item b WHERE a.id < 200 AND a.n + b.id < -1 INTO @x"
}

// collector returns a collector that is closed at the end of the test.
func collector(t *testing.T, dsn string) sampling.Collector {
	t.Helper()
	c := mysql.New(dsn)
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

// commitCount returns the number of transactions committed: MySQL counts them in one of
// these variables, MariaDB in the other.
func commitCount(s samplingtest.Result) float64 {
	return s.Total(metric.DBCounter, "name", "events_transactions") + s.Total(metric.DBCounter, "name", "Binlog_commits")
}
