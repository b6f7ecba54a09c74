package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay/harness/judge/stats"
)

const (
	resamples = 1000  // 25 of them lie beyond each end of a 95 % interval
	tail      = 0.025 // share beyond each end of the interval
)

// blockLength is the length of the blocks in which n seconds are resampled: the cube root
// of n, and at least 2.
func blockLength(n int) int { return max(1, min(n, max(2, int(math.Round(math.Cbrt(float64(n))))))) }

// resample adds up len(rows) seconds, drawn in blocks of successive seconds, which are
// correlated (moving-block bootstrap, Künsch 1989).
func resample(rows [][]float64, into []float64, random *rand.Rand) {
	clear(into)
	n := len(rows)
	block := blockLength(n)
	for left := n; left > 0; left -= block {
		from := random.IntN(n - block + 1)
		for _, row := range rows[from : from+min(block, left)] {
			for i, v := range row {
				into[i] += v
			}
		}
	}
}

// widening is the factor by which resamples of n seconds vary too little, as a variance
// over as many batches as there are blocks does. One block says nothing about variation.
func widening(n int) float64 {
	blocks := n / blockLength(n)
	if blocks < 2 {
		return 0
	}
	return math.Sqrt(stats.StudentFactor(blocks))
}

// interval is the central 95 % of the values, which it sorts in place.
func interval(values []float64) (lower, upper float64) {
	slices.Sort(values)
	n := len(values)
	return values[int(tail*float64(n))], values[n-1-int(tail*float64(n))]
}
