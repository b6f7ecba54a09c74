// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay.dev/assay/internal/judge/stats"
)

const (
	resamples = 1000  // 25 of them lie beyond each end of a 95 % interval
	tail      = 0.025 // share beyond each end of the interval
)

// blockLength is the length of the blocks in which n seconds are resampled: the cube root
// of n, and at least 2.
func blockLength(n int) int { return max(1, min(n, max(2, int(math.Round(math.Cbrt(float64(n))))))) }

// sampler resamples the rows of a table.
type sampler struct {
	columns []int       // those that are not 0 in every row, which are the minority
	rows    [][]float64 // their values
	sum     []float64
}

func samplerOf(rows [][]float64) *sampler {
	s := &sampler{}
	for _, row := range rows {
		for i, v := range row {
			if v != 0 && !slices.Contains(s.columns, i) {
				s.columns = append(s.columns, i)
			}
		}
	}
	for _, row := range rows {
		values := make([]float64, len(s.columns))
		for to, from := range s.columns {
			values[to] = row[from]
		}
		s.rows = append(s.rows, values)
	}
	s.sum = make([]float64, len(s.columns))
	return s
}

// resample adds up as many seconds as there are rows, drawn in blocks of successive
// seconds, which are correlated (moving-block bootstrap, Künsch 1989).
func (s *sampler) resample(into []float64, random *rand.Rand) {
	clear(s.sum)
	n := len(s.rows)
	block := blockLength(n)
	for left := n; left > 0; left -= block {
		from := random.IntN(n - block + 1)
		for _, row := range s.rows[from : from+min(block, left)] {
			for i, v := range row {
				s.sum[i] += v
			}
		}
	}
	clear(into)
	for from, to := range s.columns {
		into[to] = s.sum[from]
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
