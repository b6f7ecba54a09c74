package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// What calibration found (docs/calibration.md).
const (
	// LeastFactor is c in the least number of effective samples, c/q, with which a
	// condition may hold. Zero violations alone need 4.6/q at Alpha; the rest allows
	// for the error of a design effect that is estimated from the violations.
	LeastFactor = 20
	// FewFactor is c where there are fewer than FewViolations, and the design
	// effect comes from the largest values of the latency instead.
	FewFactor     = 6
	FewViolations = 20
	Reference     = 200 // number of largest values
	// tail is the least share of the largest samples whose correlation is computed.
	// Those beyond a p99.9 are too few to show a correlation time of ten seconds.
	tail = 0.05
	// BatchFactor is the least length of a batch in correlation times.
	BatchFactor = 12
	// LeastSeconds is the shortest window from which anything is inferred: Batches of
	// two seconds.
	LeastSeconds = Batches * leastBatch
)

// Inference is what the samples of a run say about the system beyond the run.
type Inference struct {
	// Outcome is Undecided unless LongEnough, or all samples violate.
	Outcome Outcome
	// DesignEffect is the number of samples that count as one; +Inf where it is not
	// known, and then Effective is 0.
	DesignEffect float64
	Effective    float64 // samples over DesignEffect
	Needed       float64 // Effective with which the condition may hold
	Correlation  float64 // s, the longest found
	// LongEnough: every batch is so long that its neighbours are independent. Only
	// then a result is "at 95 % confidence".
	LongEnough bool
}

// Infer tests by seconds whether the share of violations is below t.Q. Above
// counts by second about that many of the largest samples of the latency series
// that the violations are part of (an error's: that of its requests); nil where
// there is none.
//
// With n samples, k violations and the design effect deff, I the regularized
// incomplete beta function (AtMost, AtLeast):
//
//	Holds   I_(1-q)(n/deff - k/deff, k/deff + 1) <= alpha  and  n/deff >= c/q
//	Broken  I_q(k/deff, n/deff - k/deff + 1) <= alpha
//
// c is LeastFactor; deff is the larger of those from Batches and from half as
// many batches, each times the factor for its degrees of freedom f,
// (t_f(1 - alpha) / z(1 - alpha))^2, of Student's and the normal quantile. With
// fewer than FewViolations, deff is that of the Reference largest samples, and c
// FewFactor.
//
// Of several windows each must hold by itself, counted (Count) or inferred: otherwise
// a quiet hour would hide a bad minute.
//
// It is LongEnough where a batch, a Batches-th of all seconds, is BatchFactor times as
// long as the longest Correlation of the violations (if not few), of the Reference
// largest samples, and of the share Q of the largest, at least 5 %; and no window is
// shorter than LeastSeconds.
//
// Without samples, or with a bound of 0 or less, or a level of 0, nothing is
// inferred: the zero Inference, Undecided.
func (t Test) Infer(violations []Second, above func(largest float64) []Second) Inference {
	total := Sum(violations)
	if total.N <= 0 || t.Q <= 0 || t.Alpha <= 0 {
		return Inference{}
	}
	of, c := violations, LeastFactor/t.Q
	series := [][]Second{violations}
	if above != nil {
		series = [][]Second{above(min(Reference, total.N/2)), above(min(max(t.Q, tail), 0.5) * total.N)}
	}
	if total.K >= FewViolations {
		series = append(series, violations)
	} else {
		of, c = series[0], FewFactor/t.Q
	}
	out := Inference{DesignEffect: t.designEffect(of, total.N), Needed: c}
	for _, s := range series {
		out.Correlation = max(out.Correlation, Correlation(s))
	}
	out.Effective = total.N / out.DesignEffect
	out.LongEnough = longEnough(violations, out.Correlation) && (above != nil && Sum(series[0]).N > 0 || above == nil && total.K >= FewViolations)
	switch {
	case t.Q < 1 && total.K >= total.N && AtLeast(total.N, total.K, t.Q) <= t.Alpha:
		out.Outcome = Broken
	case !out.LongEnough:
	case AtMost(out.Effective, total.K/out.DesignEffect, t.Q) <= t.Alpha && out.Effective >= out.Needed:
		if t.everyHolds(violations, above) {
			out.Outcome = Holds
		}
	case AtLeast(out.Effective, total.K/out.DesignEffect, t.Q) <= t.Alpha:
		out.Outcome = Broken
	}
	return out
}

// everyHolds: each of several windows holds by itself.
func (t Test) everyHolds(violations []Second, above func(largest float64) []Second) bool {
	each, from, all := windows(violations), 0, Sum(violations).N
	if len(each) < 2 {
		return true
	}
	for _, w := range each {
		first, alone, of := from, above, Sum(w)
		from += len(w)
		if Count(t.Q, int64(of.N), int64(of.K)) == Holds {
			continue
		}
		if above != nil {
			alone = func(largest float64) []Second {
				x := above(largest * all / of.N)
				if len(x) < first+len(w) {
					return nil
				}
				return x[first : first+len(w)]
			}
		}
		if t.Infer(w, alone).Outcome != Holds {
			return false
		}
	}
	return true
}

// longEnough: batches are so long that the correlation from one to the next but one is
// negligible.
func longEnough(seconds []Second, correlation float64) bool {
	for _, w := range windows(seconds) {
		if len(w) < LeastSeconds {
			return false
		}
	}
	return float64(len(seconds))/Batches >= BatchFactor*correlation
}

// designEffect is that of counting n samples which are correlated as those of a
// series. With fewer of them in a batch it is smaller: deff = 1 + rho (m - 1) (Kish,
// Survey Sampling, section 5.4).
func (t Test) designEffect(series []Second, n float64) float64 {
	largest := 0.0
	for _, b := range []int{Batches, Batches / 2} {
		all := batches(series, b)
		deff, degrees, ok := ratioEffect(all)
		if degrees < 1 {
			return math.Inf(1)
		}
		if !ok {
			deff = 1 // no variance
		}
		largest = max(largest, max(1, deff)*t.studentFactor(degrees))
	}
	least := t.studentFactor(Batches - 1)
	share := min(1, n/Sum(series).N)
	return max(least, largest*share)
}

// studentFactors are the results of Test.studentFactor by test level and degrees of
// freedom: a run needs few different ones, many times, and Student's quantile is slow.
var studentFactors sync.Map

type studentKey struct {
	alpha   float64
	degrees int
}

// studentFactor is the factor of a variance with so few degrees of freedom that makes
// a normal quantile one of Student's.
func (t Test) studentFactor(degrees int) float64 {
	key := studentKey{t.Alpha, degrees}
	if known, ok := studentFactors.Load(key); ok {
		return known.(float64)
	}
	r := student(1-t.Alpha, float64(degrees)) / distuv.UnitNormal.Quantile(1-t.Alpha)
	studentFactors.Store(key, r*r)
	return r * r
}
