package run_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/lab/target"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/spec"
)

// queueing is a service that answers first, and stores by INSERTs of few rows.
func queueing(c target.Config) target.Config {
	c.Ingest, c.IngestBatch, c.DrainTimeout = target.IngestChannel, 5, time.Minute
	return c
}

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
	for i := range o.Profile.SLOs {
		switch c := &o.Profile.SLOs[i]; {
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

// Report D, first failure: each request stores its own row, and its pool is small. It
// breaks with errors that have names, and the diagnosis names what the requests waited for.
func TestDirectIngestionBreaks(t *testing.T) {
	t.Parallel()
	s := serve(t, "mysql", func(c *target.Config) {
		c.Ingest, c.Pool.MaxOpen, c.RequestTimeout = target.IngestDirect, 2, 700*time.Millisecond
	})
	s.slowRows(t, 40*time.Millisecond) // 50 a second on two connections
	o := s.ingestion(t, "ingestion", 120, 8*time.Second)
	o.Profile.Load.Baseline = spec.Baseline{Rate: 24, For: 5 * time.Second}
	for i := range o.Profile.SLOs {
		switch c := &o.Profile.SLOs[i]; c.Aggregate {
		case spec.Percentile:
			c.Bound, c.Expression = 250, "p(50)<250"
		case spec.Rate:
			c.Bound, c.Expression = 0.1, "rate<0.1"
		}
	}
	r := certify(t, o)
	v := verdict.Judge(r)
	if v.Outcome != verdict.Fail && v.Outcome != verdict.Invalid || outcomeOf(v, metric.RequestFailed, "rate") != verdict.Fail {
		t.Errorf("%s: %s, %+v", v.Outcome, v.Claim, v.SLOs)
	}
	counted := map[string]int64{}
	for _, e := range v.Errors {
		counted[e.Where+": "+e.Class] = e.Count
	}
	if counted["client: HTTP 503"] == 0 || counted["service: pool timeout"] == 0 {
		t.Errorf("errors %v", counted)
	}
	failed, _ := r.Timeline.Sum(metric.RequestFailed+metric.RateOccurred, nil, v.Judged[0])
	sum := int64(0)
	for class, n := range counted {
		if strings.HasPrefix(class, "client: ") && !strings.HasPrefix(class, "client: transaction ") && class != "client: script error" {
			sum += n
		}
	}
	if sum != int64(failed) {
		t.Errorf("%d errors of requests, %g requests failed: %v", sum, failed, counted)
	}
	if p := v.Pool; p == nil || p.Max == nil || *p.Max != 2 || p.WaitsPerSecond == nil || *p.WaitsPerSecond <= 0 {
		t.Errorf("pool %+v", p)
	}
	found := diagnose.Of(r, v)
	// On a machine on which the generator lacks CPU it may only be the leading candidate.
	if b := found.Bottleneck; b == nil || b.Component != diagnose.Pool && b.Component != diagnose.Undetermined || !strings.Contains(b.Sentence, " "+diagnose.Pool+", with ") {
		t.Errorf("bottleneck %+v", b)
	} else {
		t.Logf("%s; %s; %v", b.Component, b.Sentence, counted)
	}
}

// Report D, before: each request opens a connection of its own, and the server has too few.
// The service's errors and the server's counter have the same name. While the run goes on,
// the persist lag is that of a query.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, "mysql", func(c *target.Config) { c.Ingest, c.Pool.PerRequest = target.IngestDirect, true })
	s.slowRows(t, 200*time.Millisecond) // at 60 a second 12 connections at a time
	o := s.ingestion(t, "ingestion", 60, 6*time.Second)
	o.Profile.Ledger.Lag = &spec.Lag{SQL: "SELECT 1500.5"}
	limit := during(time.Second, func() {
		mysqldtest.Exec(t, mysqldtest.Open(t, s.dsn), "SET GLOBAL max_connections = 6")
	})
	shown := 0.0
	o.Progress = func(e run.Event) {
		if limit(e); e.Kind == run.Tick && e.Live.HasPersistLag {
			shown = e.Live.PersistLag
		}
	}
	r := certify(t, o)
	counted := map[string]int64{}
	for _, e := range verdict.Judge(r).Errors {
		counted[e.Where+": "+e.Class] = e.Count
	}
	if counted["service: too many connections"] == 0 || counted["database: too many connections"] == 0 || counted["client: HTTP 503"] == 0 {
		t.Errorf("errors %v", counted)
	}
	if l := r.Ledger; l == nil || l.Missing != 0 || r.Facts.Ledger.State != record.StateOK {
		t.Errorf("ledger %+v, %+v", l, r.Facts.Ledger)
	}
	if shown != 1500.5 {
		t.Errorf("the lag is shown as %g ms", shown)
	}
	if lag, ok := r.Timeline.MaxGauge(metric.PersistLagNow, nil, record.All); !ok || lag != 1500.5 {
		t.Errorf("the lag is recorded as %g ms, %v", lag, ok)
	}
}

// Report D, the remedy: the service answers first. A fast response is not enough: the
// queue outgrows the database, which only the persist lag shows. Late is not lost.
func TestFastAnswersDoNotPass(t *testing.T) {
	t.Parallel()
	s := serve(t, "mariadb", func(c *target.Config) { *c = queueing(*c) })
	s.slowRows(t, 50*time.Millisecond) // 80 a second by four writers
	o := s.ingestion(t, "ingestion", 160, 8*time.Second)
	lags := 0
	o.Progress = func(e run.Event) {
		if e.Kind == run.Tick && e.Live.HasPersistLag && e.Live.PersistLag > 100 {
			lags++
		}
	}
	r := certify(t, o)
	v := verdict.Judge(r)
	if got := outcomeOf(v, metric.TransactionDuration, "p(50)"); got != verdict.Pass {
		t.Errorf("latency is %s", got)
	}
	for name, want := range map[string]verdict.Outcome{metric.PersistLag: verdict.Fail, metric.Ledger: verdict.Pass} {
		if got := outcomeOf(v, name, ""); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if v.Outcome != verdict.Fail && v.Outcome != verdict.Invalid {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
	if lags == 0 {
		t.Error("the persist lag was not shown while the run went on")
	}
	// What was acknowledged last waited longest.
	span := v.Judged[0]
	first, last := r.Ledger.BySecond[span.From], r.Ledger.BySecond[span.To-1]
	if last.P50 <= first.P50 || last.Max > *v.Ledger.PersistLagMaxMs {
		t.Errorf("lag of the first second %+v, of the last %+v, of all at most %g", first, last, *v.Ledger.PersistLagMaxMs)
	}
	t.Logf("lag p50 %g ms in the first second, %g in the last", first.P50, last.P50)
}

// A service that is told to end stores its queue first; one that is killed loses it, and
// the ledger shows how much.
func TestEndOfAQueueingService(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service{server: mysqldtest.Start(t, "mariadb")}
			dsn, err := mysql.ParseDSN(s.server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			dsn.DBName = "shop"
			s.dsn = dsn.FormatDSN()
			pid := 0
			s.url, pid = startReferenceProcess(t, s.dsn, serviceQueueEnv+"=1")
			s.slowRows(t, 50*time.Millisecond)
			o := s.ingestion(t, "ingestion", 160, 6*time.Second)
			o.Profile.Ledger.Cleanup = nil // to count the rows
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
