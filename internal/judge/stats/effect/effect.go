// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"math"
	"slices"
)

// Confidence is that of every interval. Alpha is the largest share of comparisons of
// equal systems in which any metric is Changed.
const (
	Confidence = 0.95
	Alpha      = 1 - Confidence
)

// Effect is B relative to A. Exchanging A and B inverts it.
type Effect struct {
	Ratio float64
	// Interval of Ratio, and the two-sided p-value of "no difference"; nil where there
	// are too few runs for an interval of that confidence.
	Interval *Interval
	P        *float64 // (0,1]
}

// Interval is closed.
type Interval struct{ Lower, Upper float64 }

// Pair is one metric in the two runs of a pair.
type Pair struct{ A, B float64 }

// Paired is the effect over pairs: exp(median of ln(B/A)), its bootstrap
// interval, and Wilcoxon's signed-rank test of the logarithms. It is false where there
// is no pair, or where a value is 0, negative or not finite.
func Paired(pairs []Pair) (Effect, bool) {
	logs := make([]float64, 0, len(pairs))
	for _, p := range pairs {
		if !hasLog(p.A) || !hasLog(p.B) {
			return Effect{}, false
		}
		// The difference of two logarithms, so that the inverse is exact.
		logs = append(logs, math.Log(p.B)-math.Log(p.A))
	}
	if len(logs) == 0 {
		return Effect{}, false
	}
	slices.Sort(logs)
	e := Effect{Ratio: math.Exp(median(logs))}
	if len(logs) >= MinPairs(1) {
		lower, upper := bootstrapMedian(logs)
		e.Interval = &Interval{math.Exp(lower), math.Exp(upper)}
		p := signedRank(logs)
		e.P = &p
	}
	return e, true
}

// Unpaired is the effect between two groups of runs: exp(the Hodges-Lehmann shift of
// the logarithms), the median of the differences of every B to every A; its interval,
// and the Mann-Whitney test. It is false in the same cases as Paired.
func Unpaired(a, b []float64) (Effect, bool) {
	logA, okA := logsOf(a)
	logB, okB := logsOf(b)
	if !okA || !okB {
		return Effect{}, false
	}
	shifts := make([]float64, 0, len(a)*len(b))
	for _, x := range logA {
		for _, y := range logB {
			shifts = append(shifts, y-x)
		}
	}
	slices.Sort(shifts)
	e := Effect{Ratio: math.Exp(median(shifts))}
	if cut, ok := shiftCut(len(a), len(b)); ok {
		e.Interval = &Interval{math.Exp(shifts[cut]), math.Exp(shifts[len(shifts)-1-cut])}
		p := rankSum(logA, logB)
		e.P = &p
	}
	return e, true
}

func logsOf(values []float64) ([]float64, bool) {
	logs := make([]float64, len(values))
	for i, v := range values {
		if !hasLog(v) {
			return nil, false
		}
		logs[i] = math.Log(v)
	}
	return logs, len(values) > 0
}

func hasLog(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// median of sorted values, at least one.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
