// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// memoryFrequencies is from how many of the lowest frequencies a Hurst exponent is estimated. More
// would include the correlation of neighbouring seconds, which batches allow for.
const memoryFrequencies = 30

// maxHurst bounds an exponent: at 1 a series has no mean.
const maxHurst = 0.95

// hurst is an upper bound on the Hurst exponent H of the share K/N of each second: the local Whittle
// estimate (Robinson, Ann. Statist. 23, 1995) over the m lowest frequencies of the periodogram
// I_1 ... I_m, the H that minimises
//
//	log (1/m sum_j j^(2H-1) I_j) - (2H-1)/m sum_j log j
//
// plus its standard error 1/(2 sqrt m). It is 1/2 for a series without memory beyond some seconds. The
// residuals K_i - v_w N_i within their windows w are joined. It is 1/2 without variance.
func hurst(seconds []Second) float64 {
	residuals := make([]float64, 0, len(seconds))
	varies := false
	for _, w := range Windows(seconds) {
		total := Sum(w)
		for _, x := range w {
			residual := 0.0
			if total.N > 0 {
				residual = x.K - total.K/total.N*x.N
			}
			residuals, varies = append(residuals, residual), varies || residual != 0
		}
	}
	m := min(memoryFrequencies, len(residuals)/2-1)
	if !varies || m < 2 {
		return 0.5
	}
	spectrum := fourier.NewFFT(len(residuals)).Coefficients(nil, residuals)
	power, logs, mean := make([]float64, m), make([]float64, m), 0.0
	for j := range m {
		c := spectrum[j+1]
		power[j], logs[j] = real(c)*real(c)+imag(c)*imag(c), math.Log(float64(j+1))
		mean += logs[j] / float64(m)
	}
	contrast := func(h float64) float64 {
		sum := 0.0
		for j, p := range power {
			sum += p * math.Exp((2*h-1)*logs[j])
		}
		return math.Log(sum) - (2*h-1)*mean
	}
	low, high := 0.0, 1.5 // the contrast is convex
	for range 40 {
		third := (high - low) / 3
		if contrast(low+third) < contrast(high-third) {
			high -= third
		} else {
			low += third
		}
	}
	return min(maxHurst, max(0.5, (low+high)/2+1/(2*math.Sqrt(float64(m)))))
}

// memoryFactor is how many times the variance of a mean is that which the variance over b batches
// shows, in fractional Gaussian noise of Hurst exponent h, of which n values have a mean of a variance in
// proportion to n^(2h-2):
//
//	b^(2h-1) / (1 - b^(2h-2)) (1 - 1/b)
//
// It is 1 for h = 1/2, where batches are independent, and 8 for h = 0.8 and 20 batches.
func memoryFactor(h float64, b int) float64 {
	batches := float64(b)
	return math.Pow(batches, 2*h-1) / (1 - math.Pow(batches, 2*h-2)) * (1 - 1/batches)
}
