package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// spread is seconds of n samples, a share of which violates independently, in windows of
// the given lengths.
func spread(rng *rand.Rand, n int, share float64, lengths ...int) (all []Second) {
	for w, length := range lengths {
		for range length {
			s := Second{N: float64(n), Stratum: w}
			for range n {
				if rng.Float64() < share {
					s.K++
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// alikeAbove is a latency series whose largest values are evenly spread.
func alikeAbove(seconds []Second) func(float64) []Second {
	return func(largest float64) []Second {
		rng, all := rand.New(rand.NewPCG(1, uint64(largest))), make([]Second, len(seconds))
		total := Sum(seconds)
		for i, s := range seconds {
			all[i] = Second{N: s.N, Stratum: s.Stratum}
			for range int(s.N) {
				if rng.Float64() < largest/total.N {
					all[i].K++
				}
			}
		}
		return all
	}
}

func TestInfer(t *testing.T) {
	p99 := Test{Q: 0.01, Alpha: Alpha}
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(4, 2)) }
	every := func(k float64, seconds ...Second) []Second {
		for i := range seconds {
			seconds[i].K = k
		}
		return seconds
	}
	for name, tt := range map[string]struct {
		test       Test
		seconds    []Second
		outcome    Outcome
		longEnough bool
	}{
		"half of what is allowed":      {p99, spread(rng(), 100, 0.005, 600), Holds, true},
		"twice of it":                  {p99, spread(rng(), 100, 0.02, 600), Broken, true},
		"at the limit":                 {p99, spread(rng(), 100, 0.01, 600), Undecided, true},
		"few":                          {p99, spread(rng(), 100, 0.0001, 600), Holds, true},
		"few of too few":               {p99, spread(rng(), 1, 0, 600), Undecided, true},
		"under 40 s":                   {p99, spread(rng(), 100, 0.001, 39), Undecided, false},
		"a short window among others":  {p99, spread(rng(), 100, 0.001, 600, 39), Undecided, false},
		"windows long enough":          {p99, spread(rng(), 100, 0.001, 600, 40), Holds, true},
		"all violate, in four seconds": {p99, spread(rng(), 10, 1.1, 4), Broken, false},
		"a minute's memory":            {Test{Q: 0.4, Alpha: Alpha}, autoregressive(rng(), 600, 100, 60), Undecided, false},
		"no level":                     {Test{Q: 0.01}, spread(rng(), 100, 0.001, 600), Undecided, false},
		"a bound of none":              {Test{Alpha: Alpha}, spread(rng(), 100, 0, 600), Undecided, false},
		"no samples":                   {p99, every(0, make([]Second, 600)...), Undecided, false},
		"no seconds":                   {p99, nil, Undecided, false},
	} {
		got := tt.test.Infer(tt.seconds, alikeAbove(tt.seconds))
		if got.Outcome != tt.outcome || got.LongEnough != tt.longEnough {
			t.Errorf("%s: %+v, want %v, long enough %v", name, got, tt.outcome, tt.longEnough)
		}
	}
}

// One of two windows may break the condition that holds for both together.
func TestInferEveryWindow(t *testing.T) {
	test := Test{Q: 0.01, Alpha: Alpha}
	rng := rand.New(rand.NewPCG(4, 2))
	for _, tt := range []struct {
		second float64
		want   Outcome
	}{{0.003, Holds}, {0.006, Holds}, {0.01, Undecided}, {0.025, Undecided}} {
		seconds := spread(rng, 100, 0.001, 900)
		for _, s := range spread(rng, 100, tt.second, 300) {
			s.Stratum = 1
			seconds = append(seconds, s)
		}
		if got := test.Infer(seconds, alikeAbove(seconds)); got.Outcome != tt.want || !got.LongEnough {
			t.Errorf("%g in the second window: %+v, want %v", tt.second, got, tt.want)
		}
	}
}

// Few violations are correlated like the largest values of their series; without that
// series nothing is inferred.
func TestInferFew(t *testing.T) {
	test := Test{Q: 0.01, Alpha: Alpha}
	none := spread(rand.New(rand.NewPCG(4, 2)), 100, 0, 600)
	bursts := func(float64) []Second {
		all := make([]Second, len(none))
		for i := range all {
			all[i].N = 100
		}
		all[100].K, all[400].K = 100, 100
		return all
	}
	got := test.Infer(none, bursts)
	if got.Outcome != Undecided || !got.LongEnough || got.DesignEffect < 100 || got.Needed > FewFactor/test.Q {
		t.Errorf("two bursts of a hundred: %+v", got)
	}
	if got := test.Infer(none, nil); got.Outcome != Undecided || got.LongEnough {
		t.Errorf("no series: %+v", got)
	}
	// The same violations among fewer samples have a smaller design effect.
	errors := spread(rand.New(rand.NewPCG(4, 2)), 1, 0, 600)
	if got := test.Infer(errors, bursts); got.DesignEffect > 10 {
		t.Errorf("a hundredth of the samples of two bursts of a hundred: %+v", got)
	}
}

// Holds is below the limit and Broken above it; a run that is not long enough has
// neither, and a stricter level decides less.
func TestInferIsSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		q := rapid.Float64Range(0.001, 0.3).Draw(rt, "q")
		share := q * rapid.Float64Range(0, 3).Draw(rt, "part")
		seconds := spread(rng, rapid.IntRange(1, 60).Draw(rt, "n"), share, rapid.SliceOfN(rapid.IntRange(1, 300), 1, 3).Draw(rt, "windows")...)
		total := Sum(seconds)
		got := Test{Q: q, Alpha: Alpha}.Infer(seconds, alikeAbove(seconds))
		if got.Outcome != Undecided && !got.LongEnough && total.K < total.N {
			rt.Errorf("%+v is not long enough", got)
		}
		if got.Outcome == Holds && total.K/total.N >= q || got.Outcome == Broken && total.K/total.N <= q {
			rt.Errorf("%+v of a share of %g, limit %g", got, total.K/total.N, q)
		}
		if !(got.DesignEffect >= 1) || math.IsNaN(got.Effective) {
			rt.Errorf("%+v", got)
		}
		strict := Test{Q: q, Alpha: Looks(4).Alpha(1)}.Infer(seconds, alikeAbove(seconds))
		if strict.Outcome != Undecided && strict.Outcome != got.Outcome {
			rt.Errorf("%+v at %g, %+v at a quarter of it", got, Alpha, strict)
		}
	})
}

// Windows without a series that shows their correlation decide nothing.
func TestWindowsWithoutSeries(t *testing.T) {
	var violations []Second
	for i := range 120 {
		violations = append(violations, Second{N: 167, K: 1, Stratum: i / 60})
	}
	i := Test{Q: 0.01, Alpha: Alpha}.Infer(violations, func(float64) []Second { return nil })
	if i.LongEnough || i.Outcome == Holds {
		t.Errorf("%+v", i)
	}
}
