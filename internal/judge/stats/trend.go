// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// trendLevel is the confidence of a trend's interval (docs/rulebook.md,
// steady).
const trendLevel = 0.99

// Trend is the change of a series over its whole length, with its 99 % interval.
type Trend struct{ Change, Lower, Upper float64 }

// TrendOf fits a line to equally spaced values by least squares. As neighbouring values
// are correlated, with r the lag-1 autocorrelation of the residuals (0 where negative),
// n values count as
//
//	n_e = n (1 - r) / (1 + r)
//
// in the standard error and the degrees of freedom of the slope (Santer et al.,
// J. Geophys. Res. 105, 2000, eq. 6). It is false for fewer than 5 values, or where
// too few count for an interval.
func TrendOf(values []float64) (Trend, bool) {
	n := float64(len(values))
	if n < 5 {
		return Trend{}, false
	}
	mean, _ := moments(values)
	center, sxx, sxy := (n-1)/2, 0.0, 0.0
	for i, v := range values {
		x := float64(i) - center
		sxx += x * x
		sxy += x * (v - mean)
	}
	slope := sxy / sxx
	sse, lagged, previous := 0.0, 0.0, 0.0
	for i, v := range values {
		residual := v - mean - slope*(float64(i)-center)
		sse += residual * residual
		lagged += residual * previous
		previous = residual
	}
	effective := n
	if r := lagged / sse; sse > 0 && r > 0 {
		effective = n * (1 - r) / (1 + r)
	}
	if effective <= 2.5 {
		return Trend{}, false
	}
	half := student(1-(1-trendLevel)/2, effective-2) * math.Sqrt(sse/(effective-2)/sxx)
	return Trend{Change: slope * n, Lower: (slope - half) * n, Upper: (slope + half) * n}, finite(half)
}

// ShiftOf is the difference between the means of the last and the first third of a
// series, with its 99 % interval (Welch 1947, with Satterthwaite's degrees of freedom).
// It detects a step or a bend, for which the residuals of TrendOf's line are too large.
// It is false for fewer than 9 values.
func ShiftOf(values []float64) (Trend, bool) {
	third := len(values) / 3
	if third < 3 {
		return Trend{}, false
	}
	n := float64(third)
	before, a := moments(values[:third])
	after, b := moments(values[len(values)-third:])
	va, vb := a*a/n, b*b/n
	half := 0.0
	if va+vb > 0 {
		degrees := (va + vb) * (va + vb) / ((va*va + vb*vb) / (n - 1))
		half = student(1-(1-trendLevel)/2, degrees) * math.Sqrt(va+vb)
	}
	change := after - before
	return Trend{Change: change, Lower: change - half, Upper: change + half}, finite(half)
}

// moments are the mean and the standard deviation (n - 1) of values.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(values)-1))
}
