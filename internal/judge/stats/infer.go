// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// Results of the calibration (docs/calibration.md).
const (
	// MinFactor is c in the smallest number of effective samples, c/q, with which a
	// condition may hold. Zero violations alone need 4.6/q at Alpha; the rest allows
	// for the error of a design effect that is estimated from the violations.
	MinFactor = 10
	// FewFactor is c where there are fewer than FewViolations, and the design effect
	// comes from the Reference largest latencies instead.
	FewFactor     = 5
	FewViolations = 20
	Reference     = 200
	// tail is the smallest share of the largest samples whose correlation is computed.
	// Samples beyond a p99.9 are too few to show a correlation time of ten seconds.
	tail = 0.05
	// BatchFactor is the shortest length of a batch in correlation times.
	BatchFactor = 4
	// MinSeconds is the shortest window from which anything is inferred: Batches of
	// two seconds.
	MinSeconds = Batches * MinBatch
)

// Inference is what the samples of a run show about the system beyond the run.
type Inference struct {
	// Outcome is Undecided unless LongEnough, or all samples violate.
	Outcome Outcome
	// DesignEffect is the number of samples that count as one; +Inf where it is not
	// known, and then Effective is 0.
	DesignEffect float64
	Memory       float64 // factor of DesignEffect for a long memory
	Effective    float64 // samples / DesignEffect
	Needed       float64 // smallest Effective with which the condition may hold
	Correlation  float64 // s, the longest correlation time
	// LongEnough: batches are long enough to be independent. Only then is a result "at
	// 95 % confidence".
	LongEnough bool
}

// Infer tests whether the share of violations is below t.Q. countLargest counts, in the
// same seconds, about the given number of largest samples of the latency series that
// the violations belong to (for errors, that of the requests); nil where there is none.
//
// With n samples, k violations and the design effect deff, I the regularized
// incomplete beta function (AtMost, AtLeast):
//
//	Holds   I_(1-q)(n/deff - k/deff, k/deff + 1) <= alpha  and  n/deff >= c/q
//	Broken  I_q(k/deff, n/deff - k/deff + 1) <= alpha
//
// c is MinFactor; deff is the larger of the design effects over Batches and over half
// as many batches, each times the factor for its degrees of freedom f,
// (t_f(1 - alpha) / z(1 - alpha))^2, of Student's and the normal quantile. With
// fewer than FewViolations, deff is that of the Reference largest samples, and c
// FewFactor. Where latencies have a long memory, no batches are independent: memoryFactor, of the
// larger Hurst exponent of the violations and of the share Q, multiplies deff, and divides c down to
// what the test needs.
//
// Each of several windows must hold by itself, counted (Count) or inferred: otherwise a
// quiet hour would hide a bad minute.
//
// It is LongEnough where a batch, one of Batches of all seconds, is at least
// BatchFactor times the longest Correlation: of the violations (if there are at least
// FewViolations), of the Reference largest samples, and of the share Q, at least 5 %,
// of the largest samples; and where no window is shorter than MinSeconds.
//
// Without samples, or where Q or Alpha is not above 0, it is the zero Inference.
func (t Test) Infer(violations []Second, countLargest func(largest float64) []Second) Inference {
	total := Sum(violations)
	if total.N <= 0 || t.Q <= 0 || t.Alpha <= 0 {
		return Inference{}
	}
	of, c, out := violations, float64(MinFactor), Inference{}
	series := [][]Second{violations}
	if countLargest != nil {
		series = [][]Second{countLargest(min(Reference, total.N/2)), countLargest(min(max(t.Q, tail), 0.5) * total.N)}
	}
	if total.K >= FewViolations {
		series = append(series, violations)
	} else {
		of, c = series[0], FewFactor
	}
	memory := 0.5
	for i, s := range series {
		if out.Correlation = max(out.Correlation, Correlation(s)); i > 0 || countLargest == nil {
			memory = max(memory, hurst(s)) // the Reference largest are too few
		}
	}
	out.Memory = memoryFactor(memory, Batches)
	out.DesignEffect = out.Memory * t.designEffect(of, total.N)
	out.Needed = max(c/out.Memory, -math.Log(t.Alpha)) / t.Q
	out.Effective = total.N / out.DesignEffect
	out.LongEnough = longEnough(violations, out.Correlation) && (countLargest != nil && Sum(series[0]).N > 0 || countLargest == nil && total.K >= FewViolations)
	switch {
	case t.Q < 1 && total.K >= total.N && AtLeast(total.N, total.K, t.Q) <= t.Alpha:
		out.Outcome = Broken
	case !out.LongEnough:
	case AtMost(out.Effective, total.K/out.DesignEffect, t.Q) <= t.Alpha && out.Effective >= out.Needed:
		if t.everyWindowHolds(violations, countLargest) {
			out.Outcome = Holds
		}
	case AtLeast(out.Effective, total.K/out.DesignEffect, t.Q) <= t.Alpha:
		out.Outcome = Broken
	}
	return out
}

// everyWindowHolds: each of several windows holds by itself.
func (t Test) everyWindowHolds(violations []Second, countLargest func(largest float64) []Second) bool {
	each, from, all := Windows(violations), 0, Sum(violations).N
	if len(each) < 2 {
		return true
	}
	for _, w := range each {
		first, inWindow, total := from, countLargest, Sum(w)
		from += len(w)
		if Count(t.Q, int64(total.N), int64(total.K)) == Holds {
			continue
		}
		if countLargest != nil {
			inWindow = func(largest float64) []Second {
				x := countLargest(largest * all / total.N)
				if len(x) < first+len(w) {
					return nil
				}
				return x[first : first+len(w)]
			}
		}
		if t.Infer(w, inWindow).Outcome != Holds {
			return false
		}
	}
	return true
}

// longEnough: the correlation between batches is negligible.
func longEnough(seconds []Second, correlation float64) bool {
	for _, w := range Windows(seconds) {
		if len(w) < MinSeconds {
			return false
		}
	}
	return float64(len(seconds))/Batches >= BatchFactor*correlation
}

// designEffect is that of n samples with the correlation of a series. It is smaller
// than that of the series where n is smaller: deff = 1 + rho (m - 1), with m samples in
// a batch (Kish, Survey Sampling, section 5.4).
func (t Test) designEffect(series []Second, n float64) float64 {
	largest := 0.0
	for _, b := range []int{Batches, Batches / 2} {
		all := batches(series, b)
		ratio, degrees, ok := varianceRatio(all)
		if degrees < 1 {
			return math.Inf(1)
		}
		if !ok {
			ratio = 1 // no variance
		}
		largest = max(largest, max(1, ratio)*t.studentFactor(degrees))
	}
	smallest := t.studentFactor(Batches - 1)
	share := min(1, n/Sum(series).N)
	return max(smallest, largest*share)
}

// studentFactors caches Test.studentFactor, because Student's quantile is slow and a
// run needs the same few values many times.
var studentFactors sync.Map

type studentKey struct {
	alpha   float64
	degrees int
}

// studentFactor is the factor by which to multiply a variance with this many degrees of
// freedom to use the normal instead of Student's quantile.
func (t Test) studentFactor(degrees int) float64 {
	key := studentKey{t.Alpha, degrees}
	if known, ok := studentFactors.Load(key); ok {
		return known.(float64)
	}
	r := student(1-t.Alpha, float64(degrees)) / distuv.UnitNormal.Quantile(1-t.Alpha)
	studentFactors.Store(key, r*r)
	return r * r
}

// Confidence is one less the largest share of runs in which a Test holds for a
// stationary system whose percentile is exactly at its limit (docs/calibration.md).
const Confidence = 0.95

// Outcome is the result of a test of a share of violations.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Holds             // the share is below the limit
	Broken            // the share is above the limit
)

// Test tests whether the share of violations is below Q, the largest that the condition
// allows: 1 - P/100 for p(P), the bound of a rate.
type Test struct {
	Q     float64
	Alpha float64 // level of each side, see Looks; 0 infers nothing
}

// ShortFactor is the factor for the design effect of a run that is not LongEnough,
// which short batches underestimate.
const ShortFactor = 4

// LikelyBroken: the number of violations is between once and twice the allowed number
// and more than chance, although the run is too short for a stated confidence:
//
//	I_q(k/d, n/d - k/d + 1) <= alpha,  d = ShortFactor x design effect, without Memory
//
// It is used for FAIL only, and for this run only. The factor is ours;
// docs/calibration.md shows how often the result is false.
func (t Test) LikelyBroken(total Batch, i Inference) bool {
	d := ShortFactor * i.DesignEffect / i.Memory
	return total.N > 0 && t.Q > 0 && i.Effective > 0 && AtLeast(total.N/d, total.K/d, t.Q) <= t.Alpha
}
