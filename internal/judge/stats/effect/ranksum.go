// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxExact is the largest number of runs for which the distribution of rank sums is
// computed exactly. The normal approximation for more is conservative: it overestimates
// small p-values.
const maxExact = 60

// rankSum is the two-sided p-value of the Mann-Whitney test (Wilcoxon's rank
// sum) that b is distributed as a (Mann and Whitney, Annals of Mathematical
// Statistics 18, 1947). R is the sum of the ranks of b among all N = n + m values;
// under the hypothesis every choice of m ranks is equally likely:
//
//	P(R = r) = (number of choices with sum r) / C(N, m)
//
// which is exact, with ties too. Above maxExact runs R is taken as normal, with mean
// m (N + 1) / 2 and variance n m / 12 (N + 1 - sum(t^3 - t) / (N (N - 1))) for ties of
// t values each, and a continuity correction of half a rank.
func rankSum(a, b []float64) float64 {
	ranks := doubledRanks(append(slices.Clone(a), b...))
	observed := 0
	for _, rank := range ranks[len(a):] {
		observed += rank
	}
	if len(ranks) <= maxExact {
		return twoSided(sumsOfChoices(ranks, len(b)), observed)
	}
	n, m := float64(len(a)), float64(len(b))
	total, tied := n+m, 0.0
	counts := map[int]float64{}
	for _, rank := range ranks {
		counts[rank]++
	}
	for _, t := range counts {
		tied += t*t*t - t
	}
	deviation := math.Sqrt(n * m / 12 * (total + 1 - tied/(total*(total-1))))
	distance := math.Max(0, math.Abs(float64(observed)/2-m*(total+1)/2)-0.5)
	if distance == 0 {
		return 1 // the deviation may be 0, if all values are equal
	}
	return 2 * distuv.UnitNormal.CDF(-distance/deviation)
}

// sumsOfChoices is the distribution of the sum of k ranks chosen at random.
func sumsOfChoices(ranks []int, k int) []float64 {
	all := 0
	for _, rank := range ranks {
		all += rank
	}
	// ways[c][s]: number of choices of c ranks with the sum s. All together are below
	// 2^60 or so, for which a float64 has 16 digits.
	ways := make([][]float64, k+1)
	for c := range ways {
		ways[c] = make([]float64, all+1)
	}
	ways[0][0] = 1
	// Lowest and highest sum of c of the ranks so far.
	low, high := make([]int, k+1), make([]int, k+1)
	for i, rank := range ranks {
		for c := min(k, i+1); c > 0; c-- {
			from, to := low[c-1]+rank, high[c-1]+rank
			extended := ways[c][from : to+1]
			for j, n := range ways[c-1][low[c-1] : high[c-1]+1] {
				extended[j] += n
			}
			if c == i+1 { // all of them
				low[c] = from
			}
			low[c], high[c] = min(low[c], from), max(high[c], to)
		}
	}
	total := 0.0
	for _, v := range ways[k] {
		total += v
	}
	for sum := range ways[k] {
		ways[k][sum] /= total
	}
	return ways[k]
}

// shiftCut is how many of the sorted differences between n and m values are outside the
// interval of the shift on each side, by inverting the test (Moses; Hollander and
// Wolfe, Nonparametric Statistical Methods, section 4.3). It is c - 1 for the largest c
// with
//
//	P(U <= c - 1) <= Alpha/2,   U = R - m (m + 1) / 2
//
// without ties; with ties the interval is wider than necessary. It is false where even
// the interval from the smallest to the largest difference has less confidence.
func shiftCut(n, m int) (int, bool) {
	c := 0
	if n+m <= maxExact {
		p, smallest := withoutTies(n, m), m*(m+1)/2 // U = 0
		for sum := p[smallest]; sum <= Alpha/2; sum += p[smallest+c] {
			c++
		}
	} else {
		x, y := float64(n), float64(m)
		z := distuv.UnitNormal.Quantile(1 - Alpha/2)
		c = int(x*y/2 - z*math.Sqrt(x*y*(x+y+1)/12))
	}
	return c - 1, c > 0
}

// distributions caches withoutTies by the sizes of both groups, which are the same for
// every metric of a comparison.
var distributions sync.Map

// withoutTies is the distribution of the sum of m of the ranks from 1 to n + m.
func withoutTies(n, m int) []float64 {
	key := [2]int{n, m}
	if known, ok := distributions.Load(key); ok {
		return known.([]float64)
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	p := sumsOfChoices(ranks, m)
	distributions.Store(key, p)
	return p
}

// MinRuns is the smallest size n of each of two equal groups of unpaired runs with
// which a change can be found among this many metrics: all of B above all of A give
// p = 2/C(2n, n), which Holm multiplies by the number of metrics.
func MinRuns(metrics int) int {
	n := 1
	for choices := 2.0; 2/choices*float64(max(metrics, 1)) > Alpha; n++ {
		x := float64(n)
		choices *= (2*x + 1) * (2*x + 2) / ((x + 1) * (x + 1))
	}
	return n
}
