// SPDX-License-Identifier: Apache-2.0

package effect

import "math"

// signedRank is the two-sided p-value of Wilcoxon's signed-rank test that differences
// are symmetric around 0 (Wilcoxon, Individual comparisons by ranking methods,
// Biometrics 1, 1945). W is the sum of the ranks of |d| over the differences above 0;
// under the hypothesis both signs are equally likely, so
//
//	P(W = w) = 2^-n (number of subsets of ranks with sum w)
//
// which is exact for any n, and with ties too. Zeros are omitted, as by Wilcoxon.
func signedRank(differences []float64) float64 {
	var sizes []float64
	var positive []bool
	for _, d := range differences {
		if d != 0 {
			sizes, positive = append(sizes, math.Abs(d)), append(positive, d > 0)
		}
	}
	p, w, highest := []float64{1}, 0, 0
	for i, rank := range doubledRanks(sizes) {
		if positive[i] {
			w += rank
		}
		next := make([]float64, highest+rank+1)
		for sum, v := range p {
			next[sum] += v / 2
			next[sum+rank] += v / 2
		}
		p, highest = next, highest+rank
	}
	return twoSided(p, w)
}

// MinPairs is the smallest number n of pairs with which a change can be found among
// this many metrics. All pairs on one side, the clearest result, give p = 2/2^n, which
// Holm multiplies by the number of metrics: 6 pairs for one metric, and one more each
// time the number of metrics doubles.
func MinPairs(metrics int) int {
	n := 1
	for p := 1.0; p*float64(max(metrics, 1)) > Alpha; p /= 2 {
		n++
	}
	return n
}
