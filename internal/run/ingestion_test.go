//go:build live

package run_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/servicetest"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// queueing are the flags of a service that answers first, and stores by INSERTs of few rows.
var queueing = []string{"--ingest", "channel", "--ingest-batch", "5", "--drain-timeout", "1m"}

// slowRows makes every row of the table events take longer by a trigger.
func (s service) slowRows(t *testing.T, each time.Duration) {
	t.Helper()
	db := mysqldtest.Open(t, s.dsn)
	mysqldtest.Exec(t, db, "CREATE TRIGGER slow BEFORE INSERT ON events FOR EACH ROW DO SLEEP("+strconv.FormatFloat(each.Seconds(), 'f', -1, 64)+")")
}

// ingestion returns the options of a run of an ingestion profile at a rate. The limits of
// latency are for a busy machine.
func (s service) ingestion(t *testing.T, profile string, rate float64, hold time.Duration) run.Options {
	t.Helper()
	o := s.profile(t, profile, quickLoad(rate, hold))
	o.Profile.Abort = nil
	for i := range o.Profile.Flows[0].SLOs {
		switch c := &o.Profile.Flows[0].SLOs[i]; {
		case c.Metric == metric.PersistLag:
			c.Bound, c.Expression = 1000, "max<1000"
		case c.Aggregate == spec.Percentile:
			c.Quantile, c.Bound, c.Expression = 0.5, 2500, "p(50)<2500"
		case c.Aggregate == spec.Rate:
			c.Bound, c.Expression = 0.5, "rate<0.5"
		}
	}
	return o
}

func outcomeOf(v verdict.Verdict, name, expression string) verdict.Outcome {
	for _, s := range v.SLOs {
		if s.Metric == name && strings.HasPrefix(s.Expression, expression) {
			return s.Outcome
		}
	}
	return 0
}

// A service that is told to end stores its queue first; one that is killed loses it, and
// the ledger shows how much.
func TestEndOfAQueueingService(t *testing.T) {
	t.Parallel()
	signals := map[string]syscall.Signal{"SIGKILL": syscall.SIGKILL}
	if alone {
		signals["SIGTERM"] = syscall.SIGTERM
	}
	for name, signal := range signals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.35)
			s := service{server: mysqldtest.Start(t, "mariadb")}
			dsn, err := mysql.ParseDSN(s.server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			dsn.DBName = "shop"
			s.dsn = dsn.FormatDSN()
			pid := 0
			s.url, pid = servicetest.Start(t, s.dsn, queueing...)
			s.slowRows(t, 50*time.Millisecond)
			o := s.ingestion(t, "ingestion", 160, 6*time.Second)
			o.Profile.Flows[0].Ledger.Cleanup = nil // to count the rows
			o.Progress = during(3*time.Second, func() {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Error(err)
				}
			})
			r := certify(t, o)
			acknowledged, stored := 0, s.rows(t)["events"]
			for _, n := range acknowledgedIn(t, o.Dir) {
				acknowledged += n
			}
			l := r.Ledger
			if l == nil || r.Facts.Ledger.State != record.StateOK || r.Facts.Ledger.Unfinished {
				t.Fatalf("%+v", r.Facts.Ledger)
			}
			t.Logf("%d acknowledged, %s rows, %d missing", acknowledged, stored, l.Missing)
			if int(l.Acknowledged) != acknowledged || stored != strconv.FormatInt(l.Persisted, 10) || l.Missing != l.Acknowledged-l.Persisted+l.Unacknowledged+l.Duplicated {
				t.Errorf("%+v", *l)
			}
			v := verdict.Judge(r)
			if lost := signal == syscall.SIGKILL; lost != (l.Missing > 0) || lost != (v.Outcome == verdict.LostWrite) {
				t.Errorf("%d missing, %s: %s", l.Missing, v.Outcome, v.Claim)
			}
		})
	}
}
