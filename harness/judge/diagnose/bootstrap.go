package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay/harness/judge/stats"
)

const (
	resamples = 1000  // 25 of them lie beyond each end of a 95 % interval
	tail      = 0.025 // share beyond each end
)

// blockOf is the length of the blocks that n seconds are resampled in: the cube
// root of n, and at least 2.
func blockOf(n int) int { return max(1, min(n, max(2, int(math.Round(math.Cbrt(float64(n))))))) }

// resample draws n = len(rows) seconds in blocks of neighbours (moving-block
// bootstrap, Künsch 1989): seconds that follow each other are alike.
func resample(rows [][]float64, into []float64, random *rand.Rand) {
	clear(into)
	n := len(rows)
	block := blockOf(n)
	for left := n; left > 0; left -= block {
		from := random.IntN(n - block + 1)
		for _, row := range rows[from : from+min(block, left)] {
			for i, v := range row {
				into[i] += v
			}
		}
	}
}

// widening is the factor by which resamples of n seconds scatter too little:
// Student's distribution compared with the normal one, for as many batches as
// there are blocks. One block says nothing about scatter.
func widening(n int) float64 {
	if n/blockOf(n) < 2 {
		return 0
	}
	return math.Sqrt(stats.StudentFactor(n / blockOf(n)))
}

// interval is the central 95 % of values, which it sorts.
func interval(values []float64) (lower, upper float64) {
	slices.Sort(values)
	n := len(values)
	return values[int(tail*float64(n))], values[n-1-int(tail*float64(n))]
}
