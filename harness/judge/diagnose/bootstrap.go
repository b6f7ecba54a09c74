package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// resamples of the seconds: the ends of a 95 % interval then have 25 beyond
	// them.
	resamples = 1000
	// tail is what lies beyond each end of an interval.
	tail = 0.025
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

// interval is the middle 95 % of values, which it sorts.
func interval(values []float64) (lower, upper float64) {
	slices.Sort(values)
	n := len(values)
	return values[int(tail*float64(n))], values[n-1-int(tail*float64(n))]
}
