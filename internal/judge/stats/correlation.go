// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math/bits"

	"gonum.org/v1/gonum/dsp/fourier"
)

// sokalWindow is the number of correlation times over which autocorrelations are
// summed, as larger lags only add noise: Sokal's window of five times 2 tau.
const sokalWindow = 10

// fewLags is for how many lags products are added up, which takes a time in proportion to
// the lags and the seconds; those of all lags are computed together.
const fewLags = 100

// Correlation is the integrated autocorrelation time, in seconds, of the share K/N of
// each second,
//
//	tau = 1/2 + sum_(j=1..M) r_j
//
// with r_j the autocorrelation at a lag of j seconds of the residuals K_i - v_w N_i
// within their window w, and M the smallest lag that is ten times the sum so far
// (Sokal, Monte Carlo Methods in Statistical Mechanics, 1989, section 3; the
// usual 2 tau is Geyer's and Goodman and Weare's). It is 1/2 for independent
// seconds, and near the time constant of a first-order autoregression where that
// is long. Lags up to half of the longest window are used, so that a slow series in a
// short window is underestimated: see BatchFactor.
//
// It is 1/2 without variance, and 0 without seconds.
func Correlation(seconds []Second) float64 {
	if len(seconds) == 0 {
		return 0
	}
	var residuals [][]float64
	squares, longest := 0.0, 0
	for _, w := range Windows(seconds) {
		total, of := Sum(w), make([]float64, len(w))
		for i, x := range w {
			if total.N > 0 {
				of[i] = x.K - total.K/total.N*x.N
			}
			squares += of[i] * of[i]
		}
		residuals = append(residuals, of)
		longest = max(longest, len(w))
	}
	tau := 0.5
	if squares == 0 {
		return tau
	}
	var all []float64 // at every lag
	for lag := 1; lag < longest/2; lag++ {
		products := 0.0
		switch {
		case lag <= fewLags:
			for _, of := range residuals {
				for i := lag; i < len(of); i++ {
					products += of[i] * of[i-lag]
				}
			}
		case all == nil:
			all = autoproducts(residuals, longest)
			fallthrough
		default:
			products = all[lag]
		}
		tau += products / squares
		if float64(lag) >= sokalWindow*tau {
			break
		}
	}
	return max(tau, 0)
}

// autoproducts are, by lag, the sums of the products of residuals at that lag within each
// window: by the Wiener-Khinchin theorem the transform of the spectrum's power, with zeros
// after the residuals so that none meets one of another lag.
func autoproducts(residuals [][]float64, longest int) []float64 {
	all := make([]float64, longest)
	for _, of := range residuals {
		padded := make([]float64, 1<<bits.Len(uint(2*len(of)-1)))
		copy(padded, of)
		transform := fourier.NewFFT(len(padded))
		spectrum := transform.Coefficients(nil, padded)
		for i, c := range spectrum {
			spectrum[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
		}
		transform.Sequence(padded, spectrum)
		for lag := range of {
			all[lag] += padded[lag] / float64(len(padded))
		}
	}
	return all
}
