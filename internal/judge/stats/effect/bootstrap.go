// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// bootstrapMedian is the interval of a median by its bootstrap distribution: that of
// the median of n draws with replacement from the n values. The distribution is
// computed exactly (Efron, Bootstrap methods, Annals of Statistics 7, 1979, section 3),
// as with an infinite number of resamples.
//
// The plain percentile interval is too narrow for few values. This one is the
// expanded percentile interval (Hesterberg, What teachers should know about the
// bootstrap, American Statistician 69, 2015, section 5.2), whose tails are
//
//	a = Phi(-sqrt(n/(n-1)) t(n-1; 1-Alpha/2))
//
// of the bootstrap distribution each, instead of Alpha/2. Its ends are the outermost
// medians that are not in a tail. The values must be sorted, and at least 2.
func bootstrapMedian(sorted []float64) (lower, upper float64) {
	tail := expandedTail(len(sorted))
	mass := medians(sorted)
	slices.SortFunc(mass, func(x, y weighted) int { return cmp.Compare(x.value, y.value) })
	lower = mass[quantileAt(mass, tail)].value
	slices.Reverse(mass)
	upper = mass[quantileAt(mass, tail)].value
	return lower, upper
}

// expandedTail is a of bootstrapMedian for n values.
func expandedTail(values int) float64 {
	n := float64(values)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - Alpha/2)
	return distuv.UnitNormal.CDF(-math.Sqrt(n/(n-1)) * t)
}

// weighted is a value and its probability.
type weighted struct{ value, p float64 }

// quantileAt is the first index with at least this cumulative probability.
func quantileAt(mass []weighted, tail float64) int {
	sum := 0.0
	for i, m := range mass {
		if sum += m.p; sum >= tail {
			return i
		}
	}
	return len(mass) - 1
}

// medians is the distribution of the median of n draws from n sorted values.
func medians(sorted []float64) []weighted {
	n := len(sorted)
	if n%2 == 1 {
		all := make([]weighted, n)
		for i := range all {
			all[i] = weighted{sorted[i], orderStatistic(n, (n+1)/2, i)}
		}
		return all
	}
	// The m-th and (m+1)-th smallest of 2m draws are the values i < j if exactly m draws
	// are at most i, at least one of them i itself, and the other m are at least j, at
	// least one of them j itself. With g(x) = (x/n)^m this has the probability
	//
	//	C(2m, m) (g(i) - g(i-1)) (g(n-j+1) - g(n-j)),   i, j from 1
	m := n / 2
	lnFactorial := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	lnWays := lnFactorial(n) - 2*lnFactorial(m) // ln C(2m, m)
	step := func(x int) float64 {               // C(2m, m)^(1/2) (g(x) - g(x-1)), which neither overflows nor vanishes
		g := func(x int) float64 { return math.Exp(lnWays/2 + float64(m)*math.Log(float64(x)/float64(n))) }
		return g(x) - g(x-1)
	}
	var all []weighted
	for i := range n {
		rest := orderStatistic(n, m, i)
		for j := i + 1; j < n; j++ {
			p := step(i+1) * step(n-j)
			all = append(all, weighted{(sorted[i] + sorted[j]) / 2, p})
			rest -= p
		}
		all = append(all, weighted{sorted[i], max(0, rest)}) // both middle draws are this value
	}
	return all
}

// orderStatistic is the probability that the k-th smallest of n draws from n values is the one
// with index i: P(at least k draws have an index <= i) less the same for i - 1.
func orderStatistic(n, k, i int) float64 {
	among := func(first int) float64 { // P(at least k draws are among the first values)
		if first == n {
			return 1
		}
		return 1 - distuv.Binomial{N: float64(n), P: float64(first) / float64(n)}.CDF(float64(k-1))
	}
	if i == 0 {
		return among(1)
	}
	return among(i+1) - among(i)
}
