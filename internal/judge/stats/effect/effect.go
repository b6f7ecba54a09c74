// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"cmp"
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
	e := Effect{Ratio: math.Exp(Median(logs))}
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
	e := Effect{Ratio: math.Exp(Median(shifts))}
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
func Median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Decision is the result for one metric.
type Decision string

// The decisions. Undetermined is not evidence of equality.
const (
	Changed      Decision = "changed"
	Equivalent   Decision = "equivalent"
	Undetermined Decision = "undetermined"
)

// Decide compares an effect with a tolerance, a share like 0.03. The band is
// [1/(1+tolerance), 1+tolerance], which is symmetric in A and B. Changed: the interval
// is wholly outside, and the p-value, adjusted for all metrics, is at most Alpha.
// Equivalent: it is wholly inside; that needs no adjustment, as no hypothesis is
// rejected. Undetermined: otherwise, and without an interval or a p-value.
func Decide(e Effect, adjusted *float64, tolerance float64) Decision {
	i := e.Interval
	if i == nil || adjusted == nil {
		return Undetermined
	}
	lowest, highest := Band(tolerance)
	switch {
	case i.Lower >= lowest && i.Upper <= highest:
		return Equivalent
	case (i.Lower > highest || i.Upper < lowest) && *adjusted <= Alpha:
		return Changed
	}
	return Undetermined
}

// Band is the range of ratios that count as no change.
func Band(tolerance float64) (lower, upper float64) { return 1 / (1 + tolerance), 1 + tolerance }

// Holm adjusts the p-values of several tests, so that at any level the probability of a
// false rejection among them is at most that level, however the tests depend on each other
// (Holm, A simple sequentially rejective multiple test procedure,
// Scandinavian Journal of Statistics 6, 1979). In ascending order
//
//	p'(i) = max over j <= i of min(1, (k - j + 1) p(j)),   k values
//
// nil is "not tested": it remains nil and does not count.
func Holm(ps []*float64) []*float64 {
	var order []int
	for i, p := range ps {
		if p != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(*ps[i], *ps[j]) })
	adjusted, highest := make([]*float64, len(ps)), 0.0
	for j, i := range order {
		highest = max(highest, min(1, float64(len(order)-j)**ps[i]))
		v := highest
		adjusted[i] = &v
	}
	return adjusted
}
