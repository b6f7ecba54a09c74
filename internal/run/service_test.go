//go:build live

package run_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/servicetest"
)

// service is the reference service, on a database server of its own.
type service struct {
	server *mysqld.Server
	dsn    string // DSN of the service's database
	url    string
}

// serve starts both until the test ends; the service with the flags.
func serve(t *testing.T, flavour string, flags ...string) service {
	t.Helper()
	s := service{server: mysqldtest.Start(t, flavour)}
	c, err := mysql.ParseDSN(s.server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = "shop"
	s.dsn = c.FormatDSN()
	// Without declines and timeouts of the gateway, counts are exact.
	s.url, _ = servicetest.Start(t, s.dsn, append([]string{"--gateway-declines", "0", "--gateway-timeouts", "0"}, flags...)...)
	return s
}

// payments returns the options of a run of the profile payment against the service, with
// the given load.
func (s service) payments(t *testing.T, load spec.Load) run.Options {
	t.Helper()
	return s.profile(t, "payment", load)
}

// profile is payments for any profile of thresholds.json.
func (s service) profile(t *testing.T, name string, load spec.Load) run.Options {
	t.Helper()
	path := filepath.Join("..", "..", "thresholds.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := spec.Decode(path, data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := file.Profile(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Flows[0].Load = load
	p.Rules = tolerant()
	file.Digest = "" // no file asks for this
	o := options(t, p, "", s.url)
	o.File, o.DSN = file, s.dsn
	return o
}

// withMaxSLOs replaces percentiles by maxima and drops rates: few samples from a busy
// machine do not decide a percentile or rate. A failed transaction breaks a maximum, too.
func withMaxSLOs(o run.Options) run.Options {
	var slos []spec.SLO
	for _, s := range o.Profile.Flows[0].SLOs {
		switch s.Aggregate {
		case spec.Rate:
			continue
		case spec.Percentile:
			s.Aggregate, s.Quantile, s.Bound, s.Expression = spec.Max, 0, 5000, "max<5000"
		}
		slos = append(slos, s)
	}
	o.Profile.Flows[0].SLOs = slos
	return o
}

// paymentLoad has all stages, including a ramp.
func paymentLoad(rate float64, hold time.Duration) spec.Load {
	return spec.Load{
		Unit: "tps", Target: rate, Warmup: 2 * time.Second,
		Baseline: spec.Baseline{Rate: rate / 3, For: 3 * time.Second},
		Ramp:     2 * time.Second, Hold: hold, Cooldown: time.Second,
	}
}

// quickLoad has a short baseline, for runs that are not compared with it.
func quickLoad(rate float64, hold time.Duration) spec.Load {
	return spec.Load{
		Unit: "tps", Target: rate, Warmup: 2 * time.Second,
		Baseline: spec.Baseline{Rate: rate / 2, For: time.Second}, Hold: hold, Cooldown: time.Second,
	}
}

// rowWaiter returns a function that lets one session of the database wait for a row for two
// seconds: a light load on a fast disk may leave all other samples idle.
func (s service) rowWaiter(t *testing.T) func() {
	t.Helper()
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, db, "CREATE TABLE waited_for (id INT PRIMARY KEY)", "INSERT INTO waited_for VALUES (1)")
	var waiting sync.WaitGroup
	t.Cleanup(func() { waiting.Wait(); _ = db.Close() })
	return func() {
		waiting.Go(func() {
			holder, err := db.Begin()
			if err == nil {
				_, err = holder.Exec("DELETE FROM waited_for")
			}
			if err != nil {
				t.Errorf("hold a row: %v", err)
				return
			}
			waiting.Go(func() {
				if _, err := db.Exec("DELETE FROM waited_for"); err != nil {
					t.Errorf("wait for a row: %v", err)
				}
			})
			time.Sleep(2 * time.Second)
			_ = holder.Rollback()
		})
	}
}

// instruments returns the server's setup of instruments and consumers.
func (s service) instruments(t *testing.T) map[string]string {
	t.Helper()
	setup := map[string]string{}
	for _, query := range []string{
		"SELECT name, CONCAT(enabled, COALESCE(timed, '')) FROM performance_schema.setup_instruments",
		"SELECT name, enabled FROM performance_schema.setup_consumers",
	} {
		maps.Copy(setup, s.pairs(t, query))
	}
	return setup
}

// rows counts the rows of each table that payments and events write to.
func (s service) rows(t *testing.T) map[string]string {
	t.Helper()
	query := "SELECT '', ''"
	for _, table := range []string{"payments", "idempotency_keys", "ledger_entries", "audit_log", "outbox", "pending_payments", "events"} {
		query += fmt.Sprintf(" UNION ALL SELECT '%s', COUNT(*) FROM %[1]s", table)
	}
	rows := s.pairs(t, query)
	delete(rows, "")
	return rows
}

func (s service) pairs(t *testing.T, query string) map[string]string {
	t.Helper()
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			t.Fatal(err)
		}
		all[key] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
