package effect

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var whole = flag.Bool("calibrate", false, "make all simulated comparisons")

// trials is the number of comparisons simulated for each case. Without -calibrate there
// are fewer, so that single cases are allowed a deviation, see chance.
func trials() int {
	if *whole {
		return 1500
	}
	return 600
}

// chance is the accepted deviation of the share of one case: three standard deviations;
// 0 with -calibrate.
func chance() float64 {
	if *whole {
		return 0
	}
	return 3 * math.Sqrt(Confidence*Alpha/float64(trials()))
}

// source makes the logarithm of one metric of one run.
type source struct {
	name string
	draw func(r *rand.Rand) float64
}

// sources are distributions of runs: normal, with outliers, skewed, and mostly quiet
// with a bad run in ten.
var sources = []source{
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() * 0.05 }},
	{"outliers", func(r *rand.Rand) float64 { // Student's t with 3 degrees of freedom
		return r.NormFloat64() * 0.05 / math.Sqrt((sq(r.NormFloat64())+sq(r.NormFloat64())+sq(r.NormFloat64()))/3)
	}},
	{"one-sided", func(r *rand.Rand) float64 { return r.ExpFloat64() * 0.05 }},
	{"bad runs", func(r *rand.Rand) float64 {
		v := r.NormFloat64() * 0.02
		if r.IntN(10) == 0 {
			v += 0.5
		}
		return v
	}},
}

func sq(x float64) float64 { return x * x }

// group makes n runs of some metrics that depend on each other, as percentiles
// of one latency do: half of the scatter is the run's own, in all its metrics.
func group(r *rand.Rand, s source, n, metrics int, shift float64) [][]float64 {
	all := make([][]float64, metrics)
	for range n {
		run := s.draw(r)
		for m := range all {
			all[m] = append(all[m], math.Exp(shift+(run+s.draw(r))/2))
		}
	}
	return all
}

// decideAll is the result of a comparison of several metrics.
func decideAll(measure func(a, b []float64) (Effect, bool), a, b [][]float64, tolerance float64) (changed, equivalent int) {
	effects, ps := make([]Effect, len(a)), make([]*float64, len(a))
	for m := range a {
		effects[m], _ = measure(a[m], b[m])
		ps[m] = effects[m].P
	}
	for m, p := range Holm(ps) {
		switch Decide(effects[m], p, tolerance) {
		case Changed:
			changed++
		case Equivalent:
			equivalent++
		}
	}
	return changed, equivalent
}

// TestFalseChanged: where A and B are the same system, at most 5 % of comparisons
// find any metric changed, with a tolerance so small that it has no effect.
func TestFalseChanged(t *testing.T) {
	for name, m := range measure {
		all, cases := 0, 0
		for _, s := range sources {
			for _, metrics := range []int{1, 8} {
				for _, n := range []int{6, 10} {
					r, wrong := rand.New(rand.NewPCG(4, 5)), 0
					for range trials() {
						if changed, _ := decideAll(m, group(r, s, n, metrics, 0), group(r, s, n, metrics, 0), 1e-6); changed > 0 {
							wrong++
						}
					}
					if share := float64(wrong) / float64(trials()); share > Alpha+chance() {
						t.Errorf("%s, %s, %d metrics of %d runs: %.1f %% falsely changed", name, s.name, metrics, n, share*100)
					}
					all, cases = all+wrong, cases+1
				}
			}
		}
		share := float64(all) / float64(cases*trials())
		t.Logf("%s: %.1f %% of all falsely changed", name, share*100)
		if share > Alpha {
			t.Errorf("%s: %.1f %% of all falsely changed", name, share*100)
		}
	}
}

// TestFalseEquivalent: where B differs by exactly the tolerance, at most 5 % of
// comparisons find it equivalent.
func TestFalseEquivalent(t *testing.T) {
	const tolerance = 0.1
	for name, m := range measure {
		all, cases := 0, 0
		for _, s := range sources {
			for _, n := range []int{6, 9, 12} {
				r, wrong := rand.New(rand.NewPCG(6, 7)), 0
				for range trials() {
					_, equivalent := decideAll(m, group(r, s, n, 1, 0), group(r, s, n, 1, math.Log(1+tolerance)), tolerance)
					wrong += equivalent
				}
				if share := float64(wrong) / float64(trials()); share > Alpha+chance() {
					t.Errorf("%s, %s, %d runs: %.1f %% falsely equivalent", name, s.name, n, share*100)
				}
				all, cases = all+wrong, cases+1
			}
		}
		share := float64(all) / float64(cases*trials())
		t.Logf("%s: %.1f %% of all falsely equivalent", name, share*100)
		if share > Alpha {
			t.Errorf("%s: %.1f %% of all falsely equivalent", name, share*100)
		}
	}
}

// TestCoverage: the interval contains the true ratio as often as stated, within the
// error of the number of trials.
func TestCoverage(t *testing.T) {
	deviations := func(trials int) float64 { return 3 * math.Sqrt(Confidence*Alpha/float64(trials)) }
	for name, m := range measure {
		all, cases := 0, 0
		for _, s := range sources {
			for _, n := range []int{6, 8, 9, 12, 20, 40} {
				r, held := rand.New(rand.NewPCG(8, 9)), 0
				for range trials() {
					e, _ := m(group(r, s, n, 1, 0)[0], group(r, s, n, 1, 0.7)[0])
					if want := math.Exp(0.7); e.Interval.Lower <= want && want <= e.Interval.Upper {
						held++
					}
				}
				share := float64(held) / float64(trials())
				t.Logf("%s, %s, %d runs: %.1f %%", name, s.name, n, share*100)
				if share < Confidence-deviations(trials()) {
					t.Errorf("%s, %s, %d runs: the interval holds the ratio in %.1f %%", name, s.name, n, share*100)
				}
				all, cases = all+held, cases+1
			}
		}
		share := float64(all) / float64(cases*trials())
		t.Logf("%s, all: %.1f %%", name, share*100)
		if share < Confidence-deviations(cases*trials()) {
			t.Errorf("%s: the intervals hold the ratio in %.1f %%", name, share*100)
		}
	}
}

// TestPower: with enough runs for the number of metrics a clear slowdown is nearly
// always found changed, and equal systems equivalent.
func TestPower(t *testing.T) {
	const trials, metrics = 200, 8
	for name, m := range measure {
		n := LeastPairs(metrics)
		if name == "unpaired" {
			n = LeastRuns(metrics) + 2
		}
		for _, s := range sources[:1] {
			r, found, equal := rand.New(rand.NewPCG(10, 11)), 0, 0
			for range trials {
				changed, _ := decideAll(m, group(r, s, n, metrics, 0), group(r, s, n, metrics, math.Log(1.3)), 0.03)
				found += changed
				_, equivalent := decideAll(m, group(r, s, n, metrics, 0), group(r, s, n, metrics, 0), 0.15)
				equal += equivalent
			}
			if share := float64(found) / (trials * metrics); share < 0.95 {
				t.Errorf("%s: 30 %% more is found in %.1f %% of %d runs", name, share*100, n)
			}
			if share := float64(equal) / (trials * metrics); share < 0.95 {
				t.Errorf("%s: no difference is found in %.1f %% of %d runs", name, share*100, n)
			}
		}
	}
}
