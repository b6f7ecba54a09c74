// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"cmp"
	"math"
	"slices"
)

// doubledRanks are twice the ranks of the values, from 1, so that the mean ranks of
// equal values are integers too.
func doubledRanks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to
		}
		from = to
	}
	return ranks
}

// twoSided is the p-value of an observed sum whose distribution is p: twice the smaller
// tail, both tails including the observed sum.
func twoSided(p []float64, observed int) float64 {
	below, above := 0.0, 0.0
	for sum, v := range p {
		if sum <= observed {
			below += v
		}
		if sum >= observed {
			above += v
		}
	}
	return math.Min(1, 2*math.Min(below, above))
}
