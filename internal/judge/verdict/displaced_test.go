package verdict

import (
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// Violations that displaced load may have caused do not FAIL the system; others do,
// even if a few slots were displaced in the same seconds.
func TestDisplacedLoad(t *testing.T) {
	inHold := func(n int64) bool { return n > before }
	late := func(is func(n int64) bool) synthetic.Generator {
		return func(n int64) (float64, float64) {
			if is(n) {
				return 400, 0
			}
			return 0.1, 0
		}
	}
	burst := func(n int64) bool { return n > before+200 && n <= before+240 }
	few := func(n int64) bool { return inHold(n) && n%20 == 0 }
	maximum := spec.SLO{Metric: metric.TransactionDuration, Expression: "max<1000", Aggregate: spec.Max, Operator: "<", Bound: 1000}
	for name, tt := range map[string]struct {
		slo       spec.SLO
		system    synthetic.System
		generator synthetic.Generator
		want      Outcome
	}{
		"a maximum, in the burst": {maximum, func(n int64) (float64, string) {
			if burst(n) {
				return 1100, metric.Completed
			}
			return 60, metric.Completed
		}, late(burst), Invalid},
		"a maximum, elsewhere": {maximum, func(n int64) (float64, string) {
			if n == before+500 {
				return 1100, metric.Completed
			}
			return 60, metric.Completed
		}, late(burst), Fail},
		"all failed, a few displaced in every second": {synthetic.Percentile(metric.TransactionDuration, 95, 250), func(n int64) (float64, string) {
			if inHold(n) {
				return 60, metric.Failed
			}
			return 60, metric.Completed
		}, late(few), Fail},
		"healthy, a few displaced in every second": {synthetic.Percentile(metric.TransactionDuration, 95, 600), func(int64) (float64, string) {
			return 60, metric.Completed
		}, late(few), Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			p.Flows[0].Load.Hold = 60 * time.Second
			p.Flows[0].SLOs = []spec.SLO{tt.slo}
			v := Judge(synthetic.NewWith(p, 1, tt.system, tt.generator).Record())
			if v.Outcome != tt.want {
				t.Errorf("%v, want %v: %s", v.Outcome, tt.want, v.Claim)
			}
		})
	}
}

// Requests that were still open when the run ended count as possible violations, by the
// time that they had taken, with any thresholds.
func TestOpenRequestsCount(t *testing.T) {
	for name, tt := range map[string]struct {
		taken float64 // ms
		want  Outcome
	}{
		"over the bound":  {9000, Inconclusive},
		"under the bound": {100, Pass},
	} {
		c := healthy()
		c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.RequestDuration, 96, 300)} // not the run's own
		second := synthetic.T0.Add(c.Run.Plan.Load.Judged[0].End).Unix() - 1
		for i, f := range c.Frames {
			if f.Source == "worker/0" && f.Second == second {
				h := &metric.Hist{}
				h.Record(tt.taken, 20)
				c.Frames[i].Points = append(f.Points, metric.HistPoint(metric.NewSeries(metric.OpenRequests, "ms"), h))
			}
		}
		c.Frames = recount(c)
		if v := Judge(c.Record()); v.Outcome != tt.want {
			t.Errorf("%s: %v, want %v: %s", name, v.Outcome, tt.want, v.Claim)
		}
	}
}

// A record of workers that did not count cleared violations is judged by its
// histograms: without a generator stall, failures are the system's.
func TestWithoutClearedCounts(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return 400, metric.Completed })
	for i, f := range c.Frames {
		c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.ViolationsCleared })
	}
	if v := Judge(c.Record()); v.Outcome != Fail {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}

// Transactions that the generator itself did not complete do not fail the throughput;
// others do.
func TestThroughputWithoutTheGenerator(t *testing.T) {
	for own, want := range map[float64]Outcome{1: Inconclusive, 0: Fail} {
		c := synthetic.New(synthetic.Profile(), 1, func(n int64) (float64, string) {
			if n > before && n%20 == 0 {
				return 60, metric.Failed
			}
			return 60, metric.Completed
		})
		for i, f := range c.Frames {
			for _, p := range f.Points {
				if p.Series.Name == metric.Transactions && p.Series.Label("outcome") == metric.Failed {
					c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorUndone, ""), own*p.Value))
				}
			}
		}
		if s := sloOf(t, Judge(c.Record()), "throughput:"+ThroughputExpression); s.Outcome != want {
			t.Errorf("%g of the failed are the generator's: %v, want %v", own, s.Outcome, want)
		}
	}
}
