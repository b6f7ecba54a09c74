package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// anySystem draws how often a system is slow, fails, times out and drops, and
// how slow it is.
func anySystem(rt *rapid.T) synthetic.System {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	bad := rapid.SampledFrom([]float64{0, 0, 0.005, 0.03, 0.2}).Draw(rt, "not completed")
	slow := rapid.SampledFrom([]float64{0, 0.02, 0.05, 0.3}).Draw(rt, "slow")
	latencies, outcomes := make([]float64, 2000), make([]string, 2000)
	for i := range latencies {
		latencies[i], outcomes[i] = 5+rng.ExpFloat64()*40, metric.Completed
		if rng.Float64() < slow {
			latencies[i] += 200
		}
		if rng.Float64() < bad {
			outcomes[i] = metric.Outcomes[1+rng.IntN(3)]
		}
	}
	return func(n int64) (float64, string) { return latencies[n], outcomes[n] }
}

// anyCase draws a system and sometimes a flaw that makes its run INVALID.
func anyCase(rt *rapid.T) *synthetic.Case {
	p := synthetic.Profile()
	c := synthetic.New(p, rapid.IntRange(1, 3).Draw(rt, "workers"), anySystem(rt))
	switch rapid.IntRange(0, 8).Draw(rt, "flaw") {
	case 0:
		edit(c, "worker/0", metric.WorkerCPU, times(4))
	case 1:
		claimTotal(c, metric.WorkerFrames, "", plus(1))
	case 2:
		claimTotal(c, metric.WorkerSamples, metric.Transactions, plus(-1))
	case 3:
		edit(c, "worker/0", metric.TransactionsScheduled, plus(1))
	case 4:
		c.Run.Facts.Stopped, c.Run.Facts.Ended = "interrupted", synthetic.T0.Add(30*time.Second)
	}
	return c
}

func TestVerdictIsAFunctionOfTheRecord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCase(rt)
		r := c.Record()
		first, second := Judge(r), Judge(r)
		if diff := cmp.Diff(first, second); diff != "" {
			rt.Fatalf("twice judged:\n%s", diff)
		}
		c.Frames = rapid.Permutation(c.Frames).Draw(rt, "order")
		// Means and CPU are sums of floating-point numbers, whose last digit
		// depends on their order; nothing else may.
		if diff := cmp.Diff(first, Judge(c.Record()), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			rt.Fatalf("in another order:\n%s", diff)
		}
		resent := rapid.SliceOf(rapid.SampledFrom(c.Frames)).Draw(rt, "resent")
		c.Frames = append(c.Frames, resent...)
		if diff := cmp.Diff(first, Judge(c.Record()), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			rt.Fatalf("with frames sent twice:\n%s", diff)
		}
	})
}

func TestDroppedFramesNeverMakeAPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCase(rt)
		before := Judge(c.Record()).Outcome
		lost := map[int]bool{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(c.Frames)-1), 1, 20).Draw(rt, "lost") {
			lost[i] = true
		}
		var kept []metric.Frame
		workers := false
		for i, f := range c.Frames {
			if lost[i] {
				workers = workers || f.Source != "database"
				continue
			}
			kept = append(kept, f)
		}
		c.Frames = kept
		after := Judge(c.Record()).Outcome
		if workers && after != Invalid {
			rt.Errorf("frames of workers are lost, and the run is %v", after)
		}
		if !workers && after != before {
			rt.Errorf("frames of the database are lost, and %v becomes %v", before, after)
		}
	})
}

// A tighter bound has no counter in the record; where the looser one failed by
// counter or by interval, the tighter one must not pass.
func TestTighteningNeverTurnsFailIntoPass(t *testing.T) {
	metrics := []string{metric.TransactionDuration, "http_req_duration"}
	rapid.Check(t, func(rt *rapid.T) {
		r := synthetic.New(synthetic.Profile(), 2, anySystem(rt)).Record()
		name := rapid.SampledFrom(metrics).Draw(rt, "metric")
		p := rapid.SampledFrom([]float64{50, 90, 95, 99}).Draw(rt, "percentile")
		bounds := rapid.SliceOfN(rapid.Float64Range(1, 500), 2, 6).Draw(rt, "bounds")
		bounds = append(bounds, 250) // bound for which p(95) has a counter
		slices.Sort(bounds)
		r.Plan.Profile.Flows[0].SLOs = nil
		for _, b := range bounds {
			r.Plan.Profile.Flows[0].SLOs = append(r.Plan.Profile.Flows[0].SLOs, synthetic.Percentile(name, p, b))
		}
		slos := Judge(r).SLOs[:len(bounds)]
		passed := false
		for i, s := range slos {
			if s.Outcome == Fail && passed {
				rt.Errorf("%s fails, a tighter bound passes: %v", s.Expression, bounds[:i])
			}
			passed = passed || s.Outcome == Pass
		}
	})
}

// Nor do other stricter SLOs: a lower bound of a rate or a maximum, a higher percentile,
// a further SLO.
func TestStricterNeverTurnsFailIntoPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := anyCase(rt).Record()
		before := Judge(r)
		slos := slices.Clone(r.Plan.Profile.Flows[0].SLOs)
		for i, s := range slos {
			switch {
			case s.Aggregate == spec.Rate:
				slos[i].Bound = s.Bound * rapid.Float64Range(0.01, 1).Draw(rt, "rate")
			case s.Aggregate == spec.Max:
				slos[i].Bound = s.Bound * rapid.Float64Range(0.01, 1).Draw(rt, "max")
			case s.Aggregate == spec.Percentile:
				slos[i] = synthetic.Percentile(s.Metric, rapid.SampledFrom([]float64{95, 97, 99, 99.9}).Draw(rt, "percentile"),
					s.Bound*rapid.Float64Range(0.01, 1).Draw(rt, "bound"), s.Selector...)
			}
		}
		slos = append(slos, synthetic.Percentile(metric.RequestDuration, 90, rapid.Float64Range(1, 1000).Draw(rt, "further")))
		r.Plan.Profile.Flows[0].SLOs = slos
		after := Judge(r)
		if after.Outcome == Pass && before.Outcome != Pass && before.Outcome != Inconclusive {
			rt.Errorf("%s became %s: %s", before.Outcome, after.Outcome, before.Claim)
		}
		for i, s := range before.SLOs[:len(before.SLOs)-1] {
			if s.Outcome == Fail && after.SLOs[i].Outcome == Pass {
				rt.Errorf("%s %s is FAIL, %s PASS", s.Metric, s.Expression, after.SLOs[i].Expression)
			}
		}
	})
}

// The interval that replaces a missing counter contains the exact count.
func TestIntervalsContainTheCount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bound := rapid.Float64Range(1, 400).Draw(rt, "bound")
		p := synthetic.Profile()
		p.Flows[0].SLOs = nil
		for _, name := range []string{metric.TransactionDuration, "http_req_duration"} {
			p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Percentile(name, 95, bound))
		}
		r := synthetic.New(p, 2, anySystem(rt)).Record()
		exact := Judge(r).SLOs
		for i := range r.Plan.Profile.Flows[0].SLOs {
			r.Plan.Profile.Flows[0].SLOs[i].Expression += " " // known under no counter
		}
		for i, s := range Judge(r).SLOs[:2] {
			lo, hi := s.AtLeast, s.AtMost
			if s.Violations != nil {
				lo, hi = s.Violations, s.Violations
			}
			n := *exact[i].Violations
			if *s.Samples != *exact[i].Samples || n < *lo || n > *hi {
				rt.Errorf("%s: %d violations are not in [%d, %d]", s.Metric, n, *lo, *hi)
			}
			if s.Outcome != Inconclusive && s.Outcome != exact[i].Outcome {
				rt.Errorf("%s: %v by interval, %v by count", s.Metric, s.Outcome, exact[i].Outcome)
			}
		}
	})
}

func TestSums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCase(rt)
		v := Judge(c.Record())
		if ruleOf(t, v, "accounted").Outcome == Pass {
			o := v.Outcomes
			if sum := *o.Completed + *o.Failed + *o.TimedOut + *o.Dropped; sum != *v.Rate.Scheduled {
				rt.Errorf("%d outcomes of %d transactions", sum, *v.Rate.Scheduled)
			}
		}
		worst := Pass
		for _, s := range v.SLOs {
			worst = Worse(worst, s.Outcome)
			if s.Violations != nil && (*s.Violations < 0 || *s.Violations > *s.Samples) {
				rt.Errorf("%s: %d violations of %d", s.Expression, *s.Violations, *s.Samples)
			}
			if s.Metric == metric.TransactionDuration && s.Outcome == Pass && s.Expression != "max<2000" {
				// An SLO that passes must have an observed percentile within the
				// bound, up to the histogram's resolution.
				if *s.Observed > s.Limit*1.003 {
					rt.Errorf("%s passes with %g observed", s.Expression, *s.Observed)
				}
			}
		}
		for _, r := range v.Rules {
			worst = Worse(worst, r.Outcome)
			if r.Outcome == 0 {
				rt.Errorf("%s is not decided", r.ID)
			}
		}
		if v.Outcome != worst {
			rt.Errorf("%v, but its worst part is %v", v.Outcome, worst)
		}
		if (v.Outcome == Pass) != (v.Claim == fmt.Sprintf("synthetic sustained 20 transactions per second for 30 s within all %d SLOs, in this run (smoke scope; generator, service and database on one host).", len(v.SLOs))) {
			rt.Errorf("%v claims: %s", v.Outcome, v.Claim)
		}
	})
}

// The generator's own delay (late starts, stalls while a transaction is open), however
// long, never turns FAIL into PASS nor PASS into FAIL.
func TestGeneratorLagNeverTurnsTheVerdict(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		system := anySystem(rt)
		share := rapid.SampledFrom([]float64{0.001, 0.01, 0.1, 0.5, 1}).Draw(rt, "share of slots")
		most := rapid.SampledFrom([]float64{5, 60, 200, 5000}).Draw(rt, "most, ms")
		stall := rapid.Bool().Draw(rt, "by stalls")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "lag seed"), 0))
		lags := make([]float64, 2000)
		for i := range lags {
			if rng.Float64() < share {
				lags[i] = rng.Float64() * most
			}
		}
		generator := func(n int64) (lag, stalled float64) {
			if stall {
				return 0, lags[n]
			}
			return lags[n], 0
		}
		p := synthetic.Profile()
		before := Judge(synthetic.New(p, 1, system).Record())
		after := Judge(synthetic.NewWith(p, 1, system, generator).Record())
		if before.Outcome == Fail && after.Outcome == Pass || before.Outcome == Pass && after.Outcome == Fail {
			rt.Fatalf("%v turned to %v: %s", before.Outcome, after.Outcome, after.Claim)
		}
		for i, s := range after.SLOs {
			if was := before.SLOs[i].Outcome; was == Fail && s.Outcome == Pass || was == Pass && s.Outcome == Fail {
				rt.Fatalf("%s: %v turned to %v", s.Name(), was, s.Outcome)
			}
		}
		// The same by the histograms alone, as for thresholds other than the run's.
		r := synthetic.NewWith(p, 1, system, generator).Record()
		for i := range r.Plan.Profile.Flows[0].SLOs {
			if s := &r.Plan.Profile.Flows[0].SLOs[i]; s.Aggregate == spec.Percentile {
				s.Bound, s.Expression = s.Bound+1, s.Expression+" by histogram"
			}
		}
		for i, s := range Judge(r).SLOs {
			if was := before.SLOs[i].Outcome; was == Pass && s.Outcome == Fail {
				rt.Fatalf("%s: %v turned to %v", s.Name(), was, s.Outcome)
			}
		}
	})
}
