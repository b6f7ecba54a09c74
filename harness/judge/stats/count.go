package stats

import "math/bits"

// LeastAllowed is the least number of allowed violations with which a counted
// condition is decided (RULEBOOK section 2a): with fewer, one more or less is chance.
const LeastAllowed = 5

// Allowed is the largest number of violations of n samples within a share of q,
//
//	A = floor(q n)
//
// with q in billionths: 1 - 0.9 in floating point would allow 9 of 100. For
// p(P), q = 1 - P/100, it is exact: the sample of rank ceil(n P/100) keeps the
// bound if no more than A exceed it.
func Allowed(q float64, n int64) int64 {
	const unit = 1_000_000_000
	if n <= 0 || q <= 0 {
		return 0
	}
	if q >= 1 {
		return n
	}
	high, low := bits.Mul64(uint64(q*unit+0.5), uint64(n))
	allowed, _ := bits.Div64(high, low, unit)
	return int64(allowed)
}

// Count decides on k violations of n samples of this run, and says nothing about
// another (RULEBOOK section 2a). With A = Allowed(q, n):
//
//	Holds    where k <= A/2 and A >= LeastAllowed
//	Broken   where k >= 2 max(A, LeastAllowed), or where more than a third may
//	         violate and at most half of the n - A others do not
//
// otherwise Undecided: close to the limit, or too few samples. It is Broken too where
// all of n samples violate and that is chance with a probability of at most Alpha,
// q^n <= Alpha. A bound of 0 needs no statistic: one violation breaks it. Without
// samples it is Undecided.
func Count(q float64, n, k int64) Outcome {
	allowed := Allowed(q, n)
	switch {
	case n <= 0:
		return Undecided
	case q <= 0 && k > 0:
		return Broken
	case q <= 0:
		return Holds
	case q < 1 && k >= n && AtLeast(float64(n), float64(n), q) <= Alpha:
		return Broken
	case k >= 2*max(allowed, LeastAllowed):
		return Broken
	case 3*allowed > n && n-allowed >= LeastAllowed && n-k <= (n-allowed)/2:
		return Broken // twice A is close to n, or over it
	case allowed >= LeastAllowed && k <= allowed/2:
		return Holds
	}
	return Undecided
}
