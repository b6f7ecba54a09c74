package verdict

import (
	"math"
	"math/bits"
	"strings"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// judgeLatency decides p(N) by the binomial test on the samples that violate
// the bound, and max by their number.
func judgeLatency(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, unitOf(e, s))
	d := e.distribution(s.Metric, s.Selector)
	out.Observed = observed(d.all, s)
	least, most := violations(e, s, d)
	n := int64(stats.Sum(most).N)
	if n == 0 {
		return out
	}
	out.count(least, most)
	allowed := allowance(s, n)
	out.Allowed = &allowed
	if s.Aggregate != spec.Percentile {
		out.Outcome = byCount(int64(stats.Sum(least).K), int64(stats.Sum(most).K), allowed)
		return out
	}
	out.test(allowedShare(s), least, most, d)
	if out.Observed != nil {
		out.Lower, out.Upper = d.interval(s.Quantile)
	}
	return out
}

// count states how many samples violate: exactly, or within bounds.
func (out *SLO) count(least, most []stats.Batch) {
	lo, hi := int64(stats.Sum(least).K), int64(stats.Sum(most).K)
	out.Samples = pointer(int64(stats.Sum(most).N))
	if lo == hi {
		out.Violations = &lo
	} else {
		out.AtLeast, out.AtMost = &lo, &hi
	}
}

// test decides by what share of violations the condition allows. Where they are
// known within bounds only, the most possible must hold and the least be broken.
// It is decided over all judged windows; one that surely breaks it fails by
// itself.
func (out *SLO) test(allowed float64, least, most []stats.Batch, series distribution) {
	test := stats.Test{Q: allowed}
	decide := func(batches []stats.Batch) (outcome stats.Outcome, deff float64) {
		total := stats.Sum(batches)
		deff = effect(batches, series)
		return test.Decide(total.N, total.K, deff), deff
	}
	holds, deff := decide(most)
	broken, _ := decide(least)
	switch {
	case holds == stats.Holds:
		out.Outcome = Pass
	case broken == stats.Broken:
		out.Outcome = Fail
	default:
		out.Outcome = Inconclusive
	}
	// A quiet hour must not hide the minute that mattered.
	for i, window := range byWindow(least) {
		if alone, _ := decide(window); alone == stats.Broken {
			out.failIn(i)
		}
	}
	if allowed > 0 {
		out.Effective, out.Needed = pointer(stats.Sum(most).N/deff), pointer(test.Least())
		if !math.IsInf(deff, 0) {
			out.DesignEffect = &deff
		}
	}
}

// failIn fails a condition by one window, counted from 0, unless it has failed.
func (out *SLO) failIn(window int) {
	if out.Outcome != Fail {
		out.Outcome, out.FailedWindow = Fail, pointer(window+1)
	}
}

// unitOf is the unit of the metric's samples; a script's own trend may have
// none.
func unitOf(e *evidence, s spec.SLO) string {
	for _, series := range e.Timeline.Series(s.Metric) {
		return series.Unit
	}
	return "ms"
}

// violations counts by batch the samples that violate, and bounds them: by the
// workers' exact counters, or where those do not cover the metric (thresholds
// other than the run's, foreign senders) by the histogram's buckets.
func violations(e *evidence, s spec.SLO, d distribution) (least, most []stats.Batch) {
	if exact := counters(e, s); stats.Sum(exact).N > 0 && stats.Sum(exact).N >= float64(d.all.Count()) {
		return exact, exact
	}
	bound := s.Bound
	if s.Operator == "<=" {
		bound = math.Nextafter(bound, math.Inf(1)) // Violates: over the bound, not at it
	}
	least, most = d.over(bound)
	bad, exact := badEnds(e, s)
	for i := range least {
		if highest, _ := d.batches[i].Max(); highest >= bound && least[i].N > 0 {
			least[i].K = max(least[i].K, 1) // the maximum is exact
		}
		if exact {
			least[i].K = min(least[i].N, max(least[i].K, bad[i]))
		}
		// Some of them may be slow as well, and are counted already.
		most[i].K = min(most[i].N, max(least[i].K, most[i].K+bad[i]))
	}
	return least, most
}

// badEnds counts by batch the samples that violate whatever they took:
// transactions that did not complete, and requests that failed. It is not exact,
// and then too high, where the selector is by a label that the outcome does not
// have.
func badEnds(e *evidence, s spec.SLO) (n []float64, exact bool) {
	switch {
	case s.Metric == metric.TransactionDuration:
		return e.notCompletedBy(), true
	case strings.HasPrefix(s.Metric, "http_req_"):
		if total := e.tally(requestFailed+metric.RateTotal, s.Selector); total.found {
			return e.counts(requestFailed+metric.RateOccurred, s.Selector), true
		}
		return e.counts(requestFailed+metric.RateOccurred, nil), false
	}
	return make([]float64, len(e.batches)), true
}

// counters reads by batch the exact counts that the workers kept for this SLO.
func counters(e *evidence, s spec.SLO) []stats.Batch {
	selector := label("slo", s.ID())
	return e.beside(e.counts(metric.Judged, selector), e.counts(metric.Violations, selector))
}

func observed(h *metric.Hist, s spec.SLO) *float64 {
	v, ok := h.Max()
	if s.Aggregate == spec.Percentile {
		v, ok = h.Quantile(s.Quantile)
	}
	if !ok {
		return nil
	}
	return &v
}

// allowance is the most violations of n samples with which the SLO still
// holds: floor(q n) with q = 1 - P/100 for p(P), because the sample of rank
// ceil(n P/100) keeps the bound exactly if no more than that many exceed it;
// none for a maximum. q is taken in billionths: 1-0.9 in floating point would
// allow 9 of 100.
func allowance(s spec.SLO, n int64) int64 {
	if s.Aggregate != spec.Percentile {
		return 0
	}
	const unit = 1_000_000_000
	q := unit - int64(math.Round(s.Quantile*unit))
	high, low := bits.Mul64(uint64(q), uint64(n))
	allowed, _ := bits.Div64(high, low, unit)
	return int64(allowed)
}

// allowedShare is the share of samples that may violate a percentile or a rate.
func allowedShare(s spec.SLO) float64 {
	switch {
	case s.Aggregate == spec.Percentile:
		return left(s)
	case s.Operator == ">" || s.Operator == ">=":
		return 1 - s.Bound
	}
	return s.Bound
}

// left is the share of samples that p(P) lets violate, 1 - P/100, in billionths
// like allowance, but never 0.
func left(s spec.SLO) float64 {
	const unit = 1_000_000_000
	if q := (unit - math.Round(s.Quantile*unit)) / unit; q > 0 {
		return q
	}
	return 1 - s.Quantile
}
