package effect

import (
	"flag"
	"fmt"
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
	return 200
}

// deviations are three standard deviations of the share of wrong results in n trials.
func deviations(n int) float64 { return 3 * math.Sqrt(Confidence*Alpha/float64(n)) }

// chance is the accepted deviation of the share of wrong results in n trials: 0 with
// -calibrate, and for all cases together.
func chance(n int) float64 {
	if *whole || n > trials() {
		return 0
	}
	return deviations(n)
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

// scenario is a comparison that is simulated many times.
type scenario struct {
	source        source
	metrics, runs int
}

func (c scenario) String() string {
	return fmt.Sprintf("%s, %d metrics of %d runs", c.source.name, c.metrics, c.runs)
}

// scenarios are all combinations.
func scenarios(metrics, runs []int) (all []scenario) {
	for _, s := range sources {
		for _, m := range metrics {
			for _, n := range runs {
				all = append(all, scenario{s, m, n})
			}
		}
	}
	return all
}

// checkWrong fails if the share of trials with a wrong result exceeds Alpha by more than
// is accepted: in a scenario, or in all together.
func checkWrong(t *testing.T, name string, all []scenario, accepted func(trials int) float64, wrong func(scenario) func() bool) {
	check := func(what string, n, trials int) {
		share := float64(n) / float64(trials)
		t.Logf("%s, %s: %.1f %% wrong", name, what, share*100)
		if share > Alpha+accepted(trials) {
			t.Errorf("%s, %s: %.1f %% wrong", name, what, share*100)
		}
	}
	total := 0
	for _, c := range all {
		trial, n := wrong(c), 0
		for range trials() {
			if trial() {
				n++
			}
		}
		check(c.String(), n, trials())
		total += n
	}
	check("all together", total, len(all)*trials())
}

// TestFalseChanged: where A and B are the same system, at most 5 % of comparisons
// find any metric changed, with a tolerance so small that it has no effect.
func TestFalseChanged(t *testing.T) {
	for name, m := range measure {
		checkWrong(t, name, scenarios([]int{1, 8}, []int{6, 10}), chance, func(c scenario) func() bool {
			r := rand.New(rand.NewPCG(4, 5))
			return func() bool {
				changed, _ := decideAll(m, group(r, c.source, c.runs, c.metrics, 0), group(r, c.source, c.runs, c.metrics, 0), 1e-6)
				return changed > 0
			}
		})
	}
}

// TestFalseEquivalent: where B differs by exactly the tolerance, at most 5 % of
// comparisons find it equivalent.
func TestFalseEquivalent(t *testing.T) {
	const tolerance = 0.1
	for name, m := range measure {
		checkWrong(t, name, scenarios([]int{1}, []int{6, 9, 12}), chance, func(c scenario) func() bool {
			r := rand.New(rand.NewPCG(6, 7))
			return func() bool {
				_, equivalent := decideAll(m, group(r, c.source, c.runs, 1, 0), group(r, c.source, c.runs, 1, math.Log(1+tolerance)), tolerance)
				return equivalent > 0
			}
		})
	}
}

// TestCoverage: the interval contains the true ratio as often as stated, within the
// error of the number of trials.
func TestCoverage(t *testing.T) {
	for name, m := range measure {
		checkWrong(t, name, scenarios([]int{1}, []int{6, 8, 9, 12, 20, 40}), deviations, func(c scenario) func() bool {
			r := rand.New(rand.NewPCG(8, 9))
			return func() bool {
				e, _ := m(group(r, c.source, c.runs, 1, 0)[0], group(r, c.source, c.runs, 1, 0.7)[0])
				want := math.Exp(0.7)
				return e.Interval == nil || e.Interval.Lower > want || want > e.Interval.Upper
			}
		})
	}
}

// TestPower: with enough runs for the number of metrics a clear slowdown is nearly
// always found changed, and equal systems equivalent.
func TestPower(t *testing.T) {
	const trials, metrics = 200, 8
	for name, m := range measure {
		n := MinPairs(metrics)
		if name == "unpaired" {
			n = MinRuns(metrics) + 2
		}
		s, r, found, equal := sources[0], rand.New(rand.NewPCG(10, 11)), 0, 0
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
