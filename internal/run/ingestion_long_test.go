//go:build long

package run_test

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// Report D, first failure: each request stores its own row, and its pool is small. It
// breaks with errors that have names, and the diagnosis names what the requests waited for.
func TestLongDirectIngestionBreaks(t *testing.T) {
	t.Parallel()
	cpus(t, 0.4)
	s := serve(t, "mysql", "--ingest", "direct", "--pool-max-open", "2", "--request-timeout", "700ms")
	s.slowRows(t, 40*time.Millisecond) // 50 a second on two connections
	o := s.ingestion(t, "ingestion", 120, 8*time.Second)
	o.Profile.Flows[0].Load.Baseline = spec.Baseline{Rate: 24, For: 5 * time.Second}
	for i := range o.Profile.Flows[0].SLOs {
		switch c := &o.Profile.Flows[0].SLOs[i]; c.Aggregate {
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
func TestLongTooManyConnections(t *testing.T) {
	t.Parallel()
	cpus(t, 0.35)
	s := serve(t, "mysql", "--ingest", "direct", "--pool-per-request")
	s.slowRows(t, 200*time.Millisecond) // at 60 a second 12 connections at a time
	o := s.ingestion(t, "ingestion", 60, 6*time.Second)
	o.Profile.Flows[0].Ledger.Lag = &spec.Lag{SQL: "SELECT 1500.5"}
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
func TestLongFastAnswersDoNotPass(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	s := serve(t, "mariadb", queueing...)
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
	if last.P50 <= first.P50 || last.Max > *v.Ledger.PersistLagMs.Max {
		t.Errorf("lag of the first second %+v, of the last %+v, of all at most %g", first, last, *v.Ledger.PersistLagMs.Max)
	}
	t.Logf("lag p50 %g ms in the first second, %g in the last", first.P50, last.P50)
}
