//go:build live

package run_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// An SLO on queue depth is judged by a gauge that the service exposes: here the events
// that it has answered and not stored yet, which pile up while their table is locked.
// The record can be judged again with other bounds.
func TestQueueDepth(t *testing.T) {
	t.Parallel()
	cpus(t, 0.25)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql", "--ingest", "channel")
		const rate = 50
		o := s.profile(t, "ingestion", quickLoad(rate, 12*time.Second))
		o.Profile.Flows[0].SLOs = []spec.SLO{maxDepth(100_000), depthPercentile(0.5, 100), {
			Metric: metric.TransactionDuration, Expression: "max<5000", Aggregate: spec.Max, Operator: "<", Bound: 5000,
		}}
		checkUnreadableGauges(t, o)
		o.Profile.Gauges = map[string]spec.Gauge{"queue_depth": {Metric: "ingest_events_in_memory"}}
		unlocked := make(chan error, 1)
		root := mysqldtest.Open(t, s.server.DSN())
		o.Progress = during(0, func() {
			locked, end := context.WithTimeout(t.Context(), 3*time.Second)
			defer end()
			unlocked <- lockTable(locked, root, "shop.events")
		})
		r := certify(t, o)
		if err := <-unlocked; err != nil {
			t.Fatal(err)
		}
		if got := r.Plan.Profile.Gauges["queue_depth"].Metric; got != "ingest_events_in_memory" {
			t.Errorf("the plan names %q", got)
		}
		v := verdict.Judge(r)
		for _, slo := range v.SLOs {
			if strings.HasPrefix(slo.Expression, "max<1") && (slo.Unit != "count" || *slo.Samples != 12 || slo.Observed == nil || *slo.Observed < rate) {
				t.Errorf("%+v: in three seconds more than %d events were queued", slo, rate)
			}
		}
		checkCatalogue(t, o.Dir)

		// The same record, judged with bounds that it misses and with one that it meets.
		other, met := o.Profile, verdict.Pass
		if _, series := verdict.Readings(r.Timeline, maxDepth(50).Descriptor(), judged(r)); slices.Contains(series, 0) {
			met = verdict.Inconclusive // a second without a reading may have broken the bound
		}
		for _, c := range []struct {
			slo  spec.SLO
			want verdict.Outcome
		}{
			{maxDepth(50), verdict.Fail},
			{depthPercentile(0.95, 50), verdict.Fail},
			{depthPercentile(0.95, 100_000), met},
		} {
			other = other.WithFlows(func(f *spec.Flow) { f.SLOs = []spec.SLO{c.slo} })
			again := rejudge.Apply(r, other, record.Digest{Path: "other.json"})
			if v := verdict.Judge(again); v.SLOs[0].Outcome != c.want {
				t.Errorf("%s: %s: %s", c.slo.Expression, v.SLOs[0].Outcome, v.Claim)
			}
		}
		return v
	})
}

func maxDepth(bound float64) spec.SLO {
	return spec.SLO{Metric: "queue_depth", Expression: fmt.Sprintf("max<%.0f", bound), Aggregate: spec.Max, Operator: "<", Bound: bound}
}

func depthPercentile(q, bound float64) spec.SLO {
	return spec.SLO{
		Metric: "queue_depth", Expression: fmt.Sprintf("p(%g)<%.0f", 100*q, bound),
		Aggregate: spec.Percentile, Quantile: q, Operator: "<", Bound: bound,
	}
}

// checkUnreadableGauges fails the test unless a gauge that would leave the SLO without
// data is reported before the run.
func checkUnreadableGauges(t *testing.T, o run.Options) {
	t.Helper()
	for problem, gauge := range map[string]spec.Gauge{
		"has no metric ingest_events_in_memories":    {Metric: "ingest_events_in_memories"},
		"has no metric ingest_events_in_memory{x:y}": {Metric: `ingest_events_in_memory{x="y"}`},
		"neither loopback nor the target's host":     {Metric: "ingest_events_in_memory", URL: "http://192.0.2.1/metrics"},
		"/nothing answers 404":                       {Metric: "ingest_events_in_memory", URL: o.Target + "/nothing"},
	} {
		o.Profile.Gauges = map[string]spec.Gauge{"queue_depth": gauge}
		if err := run.Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %s", err, problem)
		}
	}
}

// lockTable locks a table for writing until ctx is done.
func lockTable(ctx context.Context, db *sql.DB, table string) error {
	locking := context.WithoutCancel(ctx)
	conn, err := db.Conn(locking)
	if err != nil {
		return err
	}
	defer conn.Close() // the lock is gone by then, or the statement has failed
	if _, err := conn.ExecContext(locking, "LOCK TABLES "+table+" WRITE"); err != nil {
		return err
	}
	<-ctx.Done()
	_, err = conn.ExecContext(locking, "UNLOCK TABLES")
	return err
}

// checkCatalogue fails the test if a frame of the record differs from the catalogue of
// metrics.
func checkCatalogue(t *testing.T, dir string) {
	t.Helper()
	differences := map[string]bool{}
	err := record.EachFrame(dir, func(f metric.Frame) error {
		for _, d := range metrictest.Differences(f) {
			differences[d] = true
		}
		return nil
	})
	if err != nil || len(differences) > 0 {
		t.Errorf("frames differ from the catalogue: %v, %v", slices.Sorted(maps.Keys(differences)), err)
	}
}
