// SPDX-License-Identifier: Apache-2.0

package stats

import "gonum.org/v1/gonum/mathext"

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
