package verdict

import (
	"math"
	"math/bits"
	"strings"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// minThroughput is the share of scheduled transactions that must complete
// (RULEBOOK section 2, throughput).
const minThroughput = 0.99

// Throughput is the SLO that every profile has without naming it.
const (
	ThroughputMetric     = "throughput"
	ThroughputExpression = "completed/scheduled>=0.99"
)

func judgeSLOs(e *evidence) []SLO {
	all := make([]SLO, 0, len(e.Plan.Profile.SLOs)+1)
	for _, s := range e.Plan.Profile.SLOs {
		switch {
		case !s.Sampled():
			all = append(all, judgeLedgerSLO(e, s))
		case s.Aggregate == spec.Rate:
			all = append(all, judgeRate(e, s))
		default:
			all = append(all, judgeLatency(e, s))
		}
	}
	throughput := judgeThroughput(e)
	if e.aborted != nil {
		return append(cutShort(append(all, throughput)), judgeAbort(e))
	}
	if throughput.Outcome == Fail && e.asked() && !e.stoppedEarly() {
		excuse(all)
	}
	return append(all, throughput)
}

// asked tells whether any transaction sent anything to the system. A script that
// throws before its first request shows nothing of it, whatever it sent before
// the judged windows. What a system that never
// answers was sent is known only when its transactions are given up, which may
// be after the window; what setup() sent has no scenario.
func (e *evidence) asked() bool {
	for _, s := range e.Timeline.Series(dataSent) {
		if scenario := s.Label("scenario"); scenario != "" {
			if n, _ := e.Timeline.Sum(dataSent, label("scenario", scenario), e.fromJudged()); n > 0 {
				return true
			}
		}
	}
	return e.tally(requestFailed+metric.RateTotal, nil).n > 0
}

// excuse makes SLOs without data undecided where the system left so many
// transactions undone that its failure is certain: that the later steps of a
// transaction have no sample, or a ledger no entry, is then a part of the
// failure, and must not hide it behind INVALID.
func excuse(slos []SLO) {
	for i := range slos {
		if slos[i].Outcome == Invalid {
			slos[i].Outcome = Inconclusive
		}
	}
}

func newSLO(s spec.SLO, unit string) SLO {
	return SLO{Metric: s.MetricText(), Expression: s.Expression, Unit: unit, Limit: s.Bound, Outcome: Invalid}
}

// judgeLatency decides p(N) and max by the number of samples that violate the
// bound.
func judgeLatency(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, unitOf(e, s))
	h := e.hist(s.Metric, s.Selector)
	out.Observed = observed(h, s)
	n, lo, hi := violations(e, s, h)
	if n == 0 {
		return out
	}
	allowed := allowance(s, n)
	out.Samples, out.Allowed = &n, &allowed
	if lo == hi {
		out.Violations = &lo
	} else {
		out.AtLeast, out.AtMost = &lo, &hi
	}
	out.Outcome = decide(lo, hi, allowed)
	return out
}

// unitOf is the unit of the metric's samples; a script's own trend may have
// none.
func unitOf(e *evidence, s spec.SLO) string {
	for _, series := range e.Timeline.Series(s.Metric) {
		return series.Unit
	}
	return "ms"
}

// violations counts samples and bounds the violations among them: by the
// workers' exact counters, or where those do not cover the metric (thresholds
// other than the run's, foreign senders) by the histogram's buckets.
func violations(e *evidence, s spec.SLO, h *metric.Hist) (n, lo, hi int64) {
	samples, broken := counters(e, s)
	if samples.n > 0 && uint64(samples.n) >= h.Count() {
		return samples.n, broken.n, broken.n
	}
	if h.Count() == 0 {
		return 0, 0, 0
	}
	bound := s.Bound
	if s.Operator == "<=" {
		bound = math.Nextafter(bound, math.Inf(1)) // Violates: over the bound, not at it
	}
	n = int64(h.Count())
	least, most := h.AtLeast(bound)
	lo, hi = int64(least), int64(most)
	if highest, _ := h.Max(); highest >= bound {
		lo = max(lo, 1) // the maximum is exact
	}
	bad, exact := badEnds(e, s)
	if exact {
		lo = max(lo, bad)
	}
	// Some of them may be slow as well, and are counted already.
	return n, lo, min(n, max(lo, hi+bad))
}

// badEnds counts samples that violate whatever they took: transactions that
// did not complete, and requests that failed. It is not exact, and then too
// high, where the selector is by a label that the outcome does not have.
func badEnds(e *evidence, s spec.SLO) (n int64, exact bool) {
	switch {
	case s.Metric == metric.TransactionDuration:
		return e.notCompleted(), true
	case strings.HasPrefix(s.Metric, "http_req_"):
		if total := e.tally(requestFailed+metric.RateTotal, s.Selector); total.found {
			return e.tally(requestFailed+metric.RateOccurred, s.Selector).n, true
		}
		return e.tally(requestFailed+metric.RateOccurred, nil).n, false
	}
	return 0, true
}

// counters reads the exact counts that the workers kept for this SLO.
func counters(e *evidence, s spec.SLO) (samples, broken tally) {
	selector := label("slo", s.ID())
	samples = e.tally(metric.Judged, selector)
	return samples, e.tally(metric.Violations, selector).beside(samples)
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

// decide needs the most violations possible for PASS and the least for FAIL.
func decide(lo, hi, allowed int64) Outcome {
	switch {
	case hi <= allowed:
		return Pass
	case lo > allowed:
		return Fail
	default:
		return Inconclusive
	}
}

// judgeRate decides a share. Rates have exact counters always: those of the
// SLO, or the two of the metric itself.
func judgeRate(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "share")
	lowerBound := s.Operator == ">" || s.Operator == ">="
	total := e.tally(s.Metric+metric.RateTotal, s.Selector)
	occurred := e.tally(s.Metric+metric.RateOccurred, s.Selector).beside(total)
	samples, broken := counters(e, s)
	if samples.n == 0 || samples.n < total.n {
		samples, broken = total, occurred
		if lowerBound {
			broken.n = total.n - occurred.n
		}
	}
	if !samples.found || samples.n == 0 {
		return out
	}
	share := float64(broken.n) / float64(samples.n)
	if lowerBound {
		share = float64(samples.n-broken.n) / float64(samples.n)
	}
	out.Observed, out.Samples, out.Violations = &share, &samples.n, &broken.n
	out.Outcome = when(compare(share, s.Operator, s.Bound))
	return out
}

// judgeThroughput decides the implicit SLO: a system that answers the arrivals
// it took in time but leaves others does not sustain the rate.
func judgeThroughput(e *evidence) SLO {
	out := SLO{Metric: ThroughputMetric, Expression: ThroughputExpression, Unit: "share", Limit: minThroughput, Outcome: Invalid}
	completed := e.ended[metric.Completed]
	share := ratio(completed, e.scheduled)
	if share == nil {
		return out
	}
	out.Observed, out.Samples = share, &e.scheduled.n
	out.Violations = pointer(e.scheduled.n - completed.n)
	out.Outcome = when(*share >= minThroughput)
	return out
}

// compare is exact for shares of counts: a quotient of integers and the
// literal it equals round to the same float64.
func compare(v float64, operator string, bound float64) bool {
	switch operator {
	case "<":
		return v < bound
	case "<=":
		return v <= bound
	case ">":
		return v > bound
	case ">=":
		return v >= bound
	case "==":
		return v == bound
	}
	return false
}

func when(holds bool) Outcome {
	if holds {
		return Pass
	}
	return Fail
}
