package verdict

import (
	"cmp"
	"math"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// judgeLatency decides p(N) by the share of samples that violate the bound, and
// max by their number.
func judgeLatency(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, unitOf(e, s))
	d := e.distribution(s.Metric, s.Selector)
	out.Observed = observed(d.all, s)
	v := e.violationsOf(s, d)
	if stats.Sum(v.most).N == 0 {
		return out
	}
	out.count(v.least, v.most)
	if s.Aggregate != spec.Percentile {
		e.judgeMax(&out, v)
		return out
	}
	e.decide(&out, e.ask(allowedShare(s), s), v)
	if out.Observed != nil {
		out.Lower, out.Upper = d.interval(s.Quantile)
	}
	return out
}

// judgeMax decides a condition that no sample may violate.
func (e *evidence) judgeMax(out *SLO, v violations) {
	possible, cleared := int64(stats.Sum(v.most).K), int64(stats.Sum(v.cleared).K)
	out.Allowed, out.Cleared, out.Basis = pointer(int64(0)), &cleared, spec.Counted
	out.Outcome = byCount(int64(stats.Sum(e.undisturbed(v.cleared)).K), possible, 0)
	out.Hidden = out.Outcome == Inconclusive && stats.Sum(v.least).K > float64(cleared)
}

// judgeRate decides a share of samples.
func judgeRate(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "share")
	v := e.ratesOf(s)
	total := stats.Sum(v.least)
	if total.N == 0 {
		return out
	}
	out.count(v.least, v.most)
	e.decide(&out, e.ask(allowedShare(s), s), v)
	share := total.K / total.N
	out.Observed = &share
	if deff := out.DesignEffect; deff != nil {
		if lower, upper := stats.Share(total.N / *deff, total.K / *deff); lower <= share && share <= upper {
			out.Lower, out.Upper = &lower, &upper
		}
	}
	if s.AtLeast() {
		share = (total.N - total.K) / total.N
		if out.Lower != nil {
			out.Lower, out.Upper = pointer(1-*out.Upper), pointer(1-*out.Lower)
		}
	}
	return out
}

// judgeThroughput decides the implicit SLO: a system that answers the arrivals
// it took in time but leaves others does not sustain the rate. The schedule
// holds an exact number of arrivals, so that its chance does not decide: with
// less than the share completed, in all windows or in one, the rate was not
// sustained. That it would be again is another matter, and asked as of any share.
func judgeThroughput(e *evidence) SLO {
	out := SLO{Metric: ThroughputMetric, Expression: ThroughputExpression, Unit: "share", Limit: minThroughput, Basis: spec.Counted, Outcome: Invalid}
	completed := e.ended[metric.Completed]
	out.Observed = ratio(completed, e.scheduled)
	if out.Observed == nil {
		return out
	}
	scheduled := e.counts(metric.TransactionsScheduled, nil)
	undone, own := e.notCompletedBy(), e.counts(metric.GeneratorUndone, nil)
	if !e.has(metric.GeneratorUndone, nil) {
		own = e.counts(metric.GeneratorDropped, nil)
	}
	cleared := make([]float64, len(undone))
	for i := range undone {
		cleared[i] = max(0, undone[i]-own[i])
	}
	measured := e.bySecond(scheduled, undone)
	out.count(measured, measured)
	q := e.ask(1-minThroughput, spec.SLO{})
	q.exact = true
	e.decide(&out, q, violations{
		least: measured, most: measured, cleared: e.bySecond(scheduled, cleared),
		series: e.distribution(metric.TransactionDuration, nil),
	})
	if _, lower, upper, ok := stats.Ratio(measured); ok {
		out.Lower, out.Upper = pointer(max(0, 1-upper)), pointer(min(1, 1-lower))
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

// unitOf is the unit of the metric's samples; a script's own trend may have
// none, and what the catalogue has without one is counted.
func unitOf(e *evidence, s spec.SLO) string {
	if d := s.Descriptor(); d.Name != "" {
		return cmp.Or(d.Unit, "count")
	}
	for _, series := range e.Timeline.Series(s.Metric) {
		return series.Unit
	}
	return "ms"
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

// allowedShare is the share of samples that may violate a percentile, a maximum or a
// rate.
func allowedShare(s spec.SLO) float64 {
	switch {
	case s.Aggregate == spec.Percentile:
		return left(s)
	case s.Aggregate == spec.Max:
		return 0
	case s.AtLeast():
		return 1 - s.Bound
	}
	return s.Bound
}

// mayViolate is how many of n samples may violate a percentile or a maximum.
func mayViolate(s spec.SLO, n int64) int64 {
	return stats.Allowed(allowedShare(s), n)
}

// left is the share of samples that p(P) lets violate, 1 - P/100, in billionths
// like stats.Allowed, but never 0.
func left(s spec.SLO) float64 {
	const unit = 1_000_000_000
	if q := (unit - math.Round(s.Quantile*unit)) / unit; q > 0 {
		return q
	}
	return 1 - s.Quantile
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
