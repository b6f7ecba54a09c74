package effect

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// bootstrapMedian is the interval of a median from its bootstrap distribution:
// that of the median of n draws with replacement from the n values. The
// distribution is computed in full (Efron, Bootstrap methods, Annals of
// Statistics 7, 1979, section 3), as with an infinite number of resamples.
//
// The plain percentile interval is too narrow for few values. This one is the
// expanded percentile interval (Hesterberg, What teachers should know about the
// bootstrap, American Statistician 69, 2015, section 5.2), whose tails are
//
//	a = Phi(-sqrt(n/(n-1)) t(n-1; 1-Alpha/2))
//
// of the bootstrap distribution each, instead of Alpha/2. Its ends are the
// outermost medians that a tail does not exclude. There are at least 2 values,
// and they are sorted.
func bootstrapMedian(sorted []float64) (lower, upper float64) {
	tail := expandedTail(len(sorted))
	mass := medians(sorted)
	slices.SortFunc(mass, func(x, y weighted) int { return cmp.Compare(x.value, y.value) })
	lower = mass[quantileAt(mass, tail)].value
	slices.Reverse(mass)
	upper = mass[quantileAt(mass, tail)].value
	return lower, upper
}

// tails are the results of expandedTail: every metric of a comparison needs the same.
var tails sync.Map

// expandedTail is a of bootstrapMedian for n values.
func expandedTail(values int) float64 {
	if known, ok := tails.Load(values); ok {
		return known.(float64)
	}
	n := float64(values)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - Alpha/2)
	tail := distuv.UnitNormal.CDF(-math.Sqrt(n/(n-1)) * t)
	tails.Store(values, tail)
	return tail
}

// weighted is a value and its probability.
type weighted struct{ value, p float64 }

// quantileAt is the first place with at least this cumulative probability.
func quantileAt(mass []weighted, tail float64) int {
	sum := 0.0
	for i, m := range mass {
		if sum += m.p; sum >= tail {
			return i
		}
	}
	return len(mass) - 1
}

// medians is the distribution of the median of n draws from n sorted values:
// the middle draw, or the mean of the two middle ones.
func medians(sorted []float64) []weighted {
	n := len(sorted)
	if n%2 == 1 {
		all := make([]weighted, n)
		for i := range all {
			all[i] = weighted{sorted[i], orderIs(n, (n+1)/2, i)}
		}
		return all
	}
	// The draws m and m+1 of 2m in order are the values i < j where exactly m
	// draws are up to i, one of them i itself, and the others from j on, one of
	// them j itself. With g(x) = (x/n)^m:
	//
	//	C(2m, m) (g(i) - g(i-1)) (g(n-j+1) - g(n-j)),   i, j from 1
	m := n / 2
	ln := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	ways := ln(n) - 2*ln(m)
	step := func(x int) float64 { // C(2m, m)^(1/2) (g(x) - g(x-1)), which neither overflows nor vanishes
		g := func(x int) float64 { return math.Exp(ways/2 + float64(m)*math.Log(float64(x)/float64(n))) }
		return g(x) - g(x-1)
	}
	var all []weighted
	for i := range n {
		rest := orderIs(n, m, i)
		for j := i + 1; j < n; j++ {
			p := step(i+1) * step(n-j)
			all = append(all, weighted{(sorted[i] + sorted[j]) / 2, p})
			rest -= p
		}
		all = append(all, weighted{sorted[i], max(0, rest)}) // both middle draws are this value
	}
	return all
}

// orderIs is the probability that the k-th smallest of n draws from n values is
// the one at place i, from 0: P(at least k draws are up to it) less the same of
// the place before it.
func orderIs(n, k, i int) float64 {
	upTo := func(places int) float64 {
		if places == n {
			return 1
		}
		return 1 - distuv.Binomial{N: float64(n), P: float64(places) / float64(n)}.CDF(float64(k-1))
	}
	if i == 0 {
		return upTo(1)
	}
	return upTo(i+1) - upTo(i)
}
