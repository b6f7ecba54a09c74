package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A step is found at its place, for any mean and deviation.
func TestChangePointOfStep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(12, 120).Draw(rt, "n")
		step := rapid.IntRange(5, n-5).Draw(rt, "step")
		scatter := rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(rt, "scatter")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		values := make([]float64, n)
		for i := range values {
			values[i] = 3 + scatter*random.NormFloat64()
			if i >= step {
				values[i]++
			}
		}
		c, ok := FindChangePoint(values, 5)
		if !ok || c.T < 4 || c.At != step {
			rt.Errorf("a step of ten deviations at %d of %d is found at %d, T %g", step, n, c.At, c.T)
		}
	})
}

// A series with a constant mean seldom has a change point, even if neighbours are
// correlated (at 0.8 in 8 % of series of 60 values: a slow drift looks like a step).
func TestChangePointOfConstantMean(t *testing.T) {
	for _, correlation := range []float64{0, 0.5} {
		random := rand.New(rand.NewPCG(2, 3))
		found := 0
		const series = 2000
		for range series {
			values := make([]float64, 60)
			for i := range values {
				values[i] = math.Sqrt(1-correlation*correlation) * random.NormFloat64()
				if i > 0 {
					values[i] += correlation * values[i-1]
				}
			}
			if c, _ := FindChangePoint(values, 5); c.T >= 4 {
				found++
			}
		}
		share := float64(found) / series
		t.Logf("correlation %g: %.2f %% of series without a change show one", correlation, 100*share)
		if share > 0.03 {
			t.Errorf("correlation %g: %.3f of series without a change show one", correlation, share)
		}
	}
}

func TestChangePointOfTooFew(t *testing.T) {
	if _, ok := FindChangePoint(make([]float64, 9), 5); ok {
		t.Error("nine values have a change with five on each side")
	}
	if c, ok := FindChangePoint(make([]float64, 20), 5); !ok || c.T != 0 {
		t.Errorf("nothing changes in a constant: %+v, %v", c, ok)
	}
}
