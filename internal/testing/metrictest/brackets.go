package metrictest

import (
	"math"
	"slices"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// CheckHist fails the test where what a histogram states contradicts the values that were
// recorded: their count, their sum, how many reach each of them, and their quantiles.
func CheckHist(t testing.TB, h *metric.Hist, values []float64) {
	t.Helper()
	if h.Count() != uint64(len(values)) {
		t.Errorf("%d observations, want %d", h.Count(), len(values))
		return
	}
	all, sum := slices.Sorted(slices.Values(values)), 0.0
	for i, v := range all {
		sum += v
		q := (float64(i) + 0.5) / float64(len(all))
		if lower, upper, _ := h.Interval(q); v < lower*0.995 || v > upper*1.005 {
			t.Errorf("the %g-quantile is %g, got %g to %g", q, v, lower, upper)
		}
		first, _ := slices.BinarySearch(all, v)
		if lo, hi := h.AtLeast(v); int(lo) > len(all)-first || int(hi) < len(all)-first {
			t.Errorf("%d are at least %g, got %d to %d", len(all)-first, v, lo, hi)
		}
	}
	if math.Abs(h.Sum()-sum) > 1e-6*sum {
		t.Errorf("sum %g, want %g", h.Sum(), sum)
	}
}
