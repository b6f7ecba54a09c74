package scale_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/lab/scale"
)

var threads = []int{1, 2, 4, 8, 16, 32, 64, 128}

// Throughputs that follow the law exactly give its parameters back.
func TestFitRecoversTheLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := scale.Law{
			Lambda: rapid.Float64Range(1, 10_000).Draw(t, "lambda"),
			Sigma:  rapid.Float64Range(0, 0.9).Draw(t, "sigma"),
			Kappa:  rapid.Float64Range(1e-6, 0.01).Draw(t, "kappa"),
		}
		var x []float64
		for _, n := range threads {
			x = append(x, want.At(float64(n)))
		}
		got, ok := scale.Fit(threads, x)
		if !ok || math.Abs(got.Lambda/want.Lambda-1) > 1e-6 || math.Abs(got.Sigma-want.Sigma) > 1e-6 || math.Abs(got.Kappa-want.Kappa) > 1e-6 || got.Error > 1e-6 {
			t.Fatalf("%+v, want %+v", got, want)
		}
		peak := math.Sqrt((1 - want.Sigma) / want.Kappa)
		if got.PeakAt == nil || math.Abs(*got.PeakAt/peak-1) > 1e-3 || *got.Peak < want.At(peak)*0.999 {
			t.Fatalf("%+v, want the peak at %g", got, peak)
		}
	})
}

// Whatever was measured, neither contention nor coherence is negative, and the deviation is
// that of the points.
func TestFitOfNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 1000), len(threads), len(threads)).Draw(t, "x")
		l, ok := scale.Fit(threads, x)
		measured := 0
		for _, v := range x {
			if v > 0 {
				measured++
			}
		}
		if !ok {
			return
		}
		if measured < 4 || l.Sigma < 0 || l.Kappa < 0 || l.Lambda <= 0 || math.IsNaN(l.Error) {
			t.Fatalf("%+v of %v", l, x)
		}
	})
}

func TestTooFewPointsForTheLaw(t *testing.T) {
	if l, ok := scale.Fit([]int{1, 2, 4}, []float64{1, 2, 3}); ok {
		t.Errorf("%+v of three points", l)
	}
	if l, ok := scale.Fit([]int{1, 2, 4, 8}, []float64{1, 2, 0, 3}); ok {
		t.Errorf("%+v of three points with a throughput", l)
	}
}
