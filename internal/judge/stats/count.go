// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mathext"
)

// MinAllowed is the smallest number of allowed violations with which a counted
// condition can hold (docs/rulebook.md): with fewer, the result would be chance.
const MinAllowed = 5

// Allowed is the largest number of violations of n samples within a share of q,
//
//	A = floor(q n)
//
// with q rounded to billionths: 1 - 0.9 in floating point would allow 9 of 100. For
// p(P), q = 1 - P/100, it is exact: the sample of rank ceil(n P/100) keeps the bound if
// at most A samples exceed it.
func Allowed(q float64, n int64) int64 {
	if n <= 0 || q <= 0 {
		return 0
	}
	if q >= 1 {
		return n
	}
	high, low := bits.Mul64(inBillionths(q), uint64(n))
	allowed, _ := bits.Div64(high, low, billion)
	return int64(allowed)
}

const billion = 1_000_000_000

func inBillionths(q float64) uint64 { return uint64(q*billion + 0.5) }

// Needed is the smallest number of samples with which a counted condition can hold: the least
// n with Allowed(q, n) >= MinAllowed. Where q allows none, it is the largest there is.
func Needed(q float64) int64 {
	switch {
	case q >= 1:
		return MinAllowed
	case q <= 0 || inBillionths(q) == 0:
		return math.MaxInt64
	}
	each := int64(inBillionths(q))
	return (MinAllowed*billion + each - 1) / each
}

// Count decides on k violations of n samples, for this run only (docs/rulebook.md).
// With A = Allowed(q, n):
//
//	Holds      k <= A/2 and A >= MinAllowed
//	Broken     k >= 2 max(A, MinAllowed); or, where A > n/3, at most half of n - A
//	           samples do not violate
//	Undecided  otherwise: close to the limit, or too few samples
//
// It is Broken too where all n samples violate and q^n, the probability of that, is at
// most Alpha. For q = 0 one violation is Broken. Without samples it is Undecided.
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
	case k >= 2*max(allowed, MinAllowed):
		return Broken
	case 3*allowed > n && n-allowed >= MinAllowed && n-k <= (n-allowed)/2:
		return Broken // 2 A is close to n, or over it
	case allowed >= MinAllowed && k <= allowed/2:
		return Holds
	}
	return Undecided
}

// Alpha is the level at which one side of the binomial test decides
// (docs/calibration.md). As the design effect comes from the same data, the error is larger than
// that: see Confidence.
const Alpha = 0.01

// AtMost is the probability of at most k violations among n independent samples, each
// of which violates with probability q:
//
//	P(X <= k) = I_(1-q)(n - k, k + 1)
//
// with I the regularized incomplete beta function (Abramowitz and Stegun
// 26.5.24). n and k need not be integers, as effective samples are not.
func AtMost(n, k, q float64) float64 {
	switch {
	case k >= n:
		return 1
	case k < 0:
		return 0
	}
	return mathext.RegIncBeta(n-k, k+1, 1-q)
}

// AtLeast is the probability of at least k violations, I_q(k, n - k + 1).
func AtLeast(n, k, q float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(k, n-k+1, q)
}
