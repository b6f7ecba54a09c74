package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressive are seconds of n samples whose share varies around 0.2 with a time
// constant in seconds; 0 makes them independent.
func autoregressive(rng *rand.Rand, length int, n, constant float64) []Second {
	memory := 0.0
	if constant > 0 {
		memory = math.Exp(-1 / constant)
	}
	z, all := rng.NormFloat64(), make([]Second, length)
	for i := range all {
		z = memory*z + math.Sqrt(1-memory*memory)*rng.NormFloat64()
		all[i] = Second{N: n, K: n * min(max(0.2+0.05*z, 0), 1)}
	}
	return all
}

// The correlation time of a long series is near its time constant; that of independent
// seconds is 1/2.
func TestCorrelationOfAutoregressions(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, constant := range []float64{0, 2, 10, 30} {
		const rounds = 200
		mean := 0.0
		for range rounds {
			mean += Correlation(autoregressive(rng, 3600, 100, constant)) / rounds
		}
		if want := max(0.5, constant); math.Abs(mean-want) > 0.2*want {
			t.Errorf("a time constant of %g s is found as %g s", constant, mean)
		}
	}
}

// Different means of windows are not correlation, and the last second of a window is not
// correlated with the first of the next.
func TestCorrelationIsWithinWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	seconds := autoregressive(rng, 1200, 100, 0)
	for i := range seconds[600:] {
		seconds[600+i].K += 50
		seconds[600+i].Stratum = 1
	}
	if tau := Correlation(seconds); tau > 1 {
		t.Errorf("two windows that differ have a correlation of %g s", tau)
	}
	for i := range seconds {
		seconds[i].Stratum = 0
	}
	if tau := Correlation(seconds); tau < 60 {
		t.Errorf("one window that jumps has a correlation of %g s", tau)
	}
}

// The products of all lags are those that are added up one by one.
func TestAutoproducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	var residuals [][]float64
	for _, length := range []int{1, 2, 500, 1000} {
		of := make([]float64, length)
		for i := range of {
			of[i] = rng.NormFloat64()
		}
		residuals = append(residuals, of)
	}
	for lag, got := range autoproducts(residuals, 1000) {
		want := 0.0
		for _, of := range residuals {
			for i := lag; i < len(of); i++ {
				want += of[i] * of[i-lag]
			}
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("lag %d: %g, want %g", lag, got, want)
		}
	}
}

func TestCorrelationWithoutData(t *testing.T) {
	for name, tt := range map[string]struct {
		seconds []Second
		want    float64
	}{
		"none":       {nil, 0},
		"no samples": {make([]Second, 50), 0.5},
		"constant":   {[]Second{{N: 5, K: 1}, {N: 5, K: 1}, {N: 5, K: 1}}, 0.5},
		"one":        {[]Second{{N: 5, K: 1}}, 0.5},
	} {
		if got := Correlation(tt.seconds); got != tt.want {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
	}
}

// Batches contain all seconds of their windows, and no others.
func TestBatchesKeepSeconds(t *testing.T) {
	for _, lengths := range [][]int{{600}, {60}, {41}, {7}, {1}, {600, 60}, {3600, 30}, {40, 40, 40}} {
		var seconds []Second
		for w, length := range lengths {
			for range length {
				seconds = append(seconds, Second{N: 1, K: float64(len(seconds) % 2), Stratum: w})
			}
		}
		all := batches(seconds, Batches)
		if got, want := Sum(all), Sum(seconds); got.N != want.N || got.K != want.K {
			t.Errorf("windows of %v: %v of %v are in batches", lengths, got, want)
		}
		of := make([]float64, len(lengths))
		for _, b := range all {
			of[b.Stratum] += b.N
		}
		for w, length := range lengths {
			if of[w] != float64(length) {
				t.Errorf("windows of %v: %g seconds in the batches of window %d", lengths, of[w], w)
			}
		}
		if len(lengths) == 1 && lengths[0] >= MinSeconds && len(all) != Batches {
			t.Errorf("%d s are %d batches", lengths[0], len(all))
		}
	}
}
