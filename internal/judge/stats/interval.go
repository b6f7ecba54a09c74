// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// QuantileRanks are the ranks r/n of the order statistics X_(r) that bound the
// p-quantile of the source, each side at Alpha, for n effective samples. X_(r) is below
// the quantile if at least r samples are, with probability P(Bin(n, p) >= r) (David and
// Nagaraja, Order Statistics, section 7.1). A side that the samples do not bound is
// false.
func QuantileRanks(n, p float64) (lower, upper float64, hasLower, hasUpper bool) {
	if n <= 0 {
		return 0, 0, false, false
	}
	// The quantile is below X_(r) with a probability of at most Alpha.
	below := bisect(0, n, func(r float64) bool { return AtMost(n, r, p) > Alpha })
	above := bisect(0, n, func(r float64) bool { return AtLeast(n, r, p) <= Alpha })
	return below / n, above / n, AtMost(n, 0, p) <= Alpha, AtLeast(n, n, p) <= Alpha
}

// ShareInterval is the confidence interval of a share, given k of n effective samples,
// each side at Alpha (Clopper and Pearson 1934).
func ShareInterval(n, k float64) (lower, upper float64) {
	lower, upper = 0, 1
	if k > 0 {
		lower = bisect(0, 1, func(q float64) bool { return AtLeast(n, k, q) > Alpha })
	}
	if k < n {
		upper = bisect(0, 1, func(q float64) bool { return AtMost(n, k, q) <= Alpha })
	}
	return lower, upper
}

// bisect is the smallest value from which on a monotone condition is true, to the
// resolution of float64.
func bisect(low, high float64, turned func(float64) bool) float64 {
	for range 60 {
		if mid := (low + high) / 2; turned(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// RatioInterval is the share K/N over batches with its confidence interval, each side
// at Alpha, by Student's distribution over the batches (the method of batch means, Law
// and Kelton, section 9.5) of the ratio estimator,
//
//	s2 = b / (b - 1) sum (K_i - v N_i)^2 / (sum N)^2
//
// (Cochran, section 6.4). Batches without samples do not count. It is false for fewer
// than two batches.
func RatioInterval(all []Batch) (share, lower, upper float64, ok bool) {
	total, b := Sum(all), 0.0
	for _, x := range all {
		if x.N > 0 {
			b++
		}
	}
	if b < 2 {
		return 0, 0, 0, false
	}
	share = total.K / total.N
	squares := 0.0
	for _, x := range all {
		d := x.K - share*x.N
		squares += d * d
	}
	half := student(1-Alpha, b-1) * math.Sqrt(b/(b-1)*squares) / total.N
	return share, share - half, share + half, true
}
