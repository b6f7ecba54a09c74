package verdict

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// anyLoad draws a load in phases, or in stages of which some are judged, some are overloads, and some
// are neither.
func anyLoad(rt *rapid.T) spec.Load {
	seconds := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Second
	}
	rate := func(name string) float64 { return float64(rapid.IntRange(1, 30).Draw(rt, name)) }
	if rapid.Bool().Draw(rt, "phases") {
		target := rate("target")
		return spec.Load{
			Unit: "tps", Target: target, Warmup: seconds("warm-up", 0, 4),
			Baseline: spec.Baseline{Rate: target / 4, For: seconds("baseline", 0, 6)},
			Ramp:     seconds("ramp", 0, 5), Hold: seconds("hold", 10, 30), Cooldown: seconds("cool-down", 0, 5),
		}
	}
	load := spec.Load{Unit: "tps"}
	for i := range rapid.IntRange(1, 6).Draw(rt, "stages") {
		s := spec.Stage{Rate: rate("rate"), For: seconds("for", 2, 12), Ramp: seconds("ramp", 0, 3)}
		switch kind := rapid.IntRange(0, 3).Draw(rt, "kind"); {
		case i == 0 || kind < 2:
			s.Judge = true
		case kind == 2:
			s.Overload, s.Rate = true, 40
		}
		load.Stages = append(load.Stages, s)
	}
	return load
}

// Each second, transaction and failure of a run is judged, or listed as left out; and none is both.
func TestWhatIsNotJudgedIsLeftOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, system := synthetic.Profile(), anySystem(rt)
		p.Flows[0].Load = anyLoad(rt)
		p.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 250)}
		for _, s := range []spec.SLO{
			{Metric: metric.SettleTime, Expression: "max<3s", Aggregate: spec.Max, Operator: "<", Bound: 3000},
			{Metric: metric.TimeToScale, Expression: "max<2s", Aggregate: spec.Max, Operator: "<", Bound: 2000},
			{Metric: metric.Goodput, Expression: "rate>0.5", Aggregate: spec.Rate, Operator: ">", Bound: 0.5},
		} {
			if rapid.Bool().Draw(rt, s.Metric) {
				p.Flows[0].SLOs = append(p.Flows[0].SLOs, s)
			}
		}
		c := synthetic.New(p, rapid.IntRange(1, 3).Draw(rt, "workers"), func(n int64) (float64, string) { return system(n % 2000) })
		r := c.Record()
		v := Judge(r)

		seconds, transactions, failed := float64(v.Window.Seconds), *v.Rate.Scheduled, *v.Outcomes.Failed+*v.Outcomes.TimedOut+*v.Outcomes.Dropped
		for _, o := range v.LeftOut {
			if o.Reason == "unjudged-stage" || o.Reason == "recoveries" {
				transactions, failed = transactions+*o.Transactions, failed+*o.Failed
				if o.Seconds != nil {
					seconds += *o.Seconds
				}
			}
		}
		for _, s := range c.Run.Plan.Load.Stages { // goodput judges an overload
			if s.Name == plan.Overload && slices.ContainsFunc(p.Flows[0].SLOs, func(s spec.SLO) bool { return s.Metric == metric.Goodput }) {
				o := newEvidence(r).over(record.SpanOf(synthetic.T0, plan.Window{Start: s.Start, End: s.End()}))
				seconds, transactions, failed = seconds+float64(o.seconds), transactions+o.scheduled.n, failed+o.notCompleted()
			}
		}
		all := newEvidence(r).over(record.All)
		if transactions != all.scheduled.n || failed != all.notCompleted() {
			rt.Errorf("%d transactions, of which %d failed, are judged or listed: of %d and %d", transactions, failed, all.scheduled.n, all.notCompleted())
		}
		if load := c.Run.Plan.Load.Duration().Seconds(); seconds != load {
			rt.Errorf("%g s are judged or listed, of %g s", seconds, load)
		}
	})
}
