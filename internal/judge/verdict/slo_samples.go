// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"math"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// judgeSamples decides an SLO by samples, of which other senders' may only make it worse.
func judgeSamples(p *part, s spec.SLO) SLO {
	judge := judgeLatency
	if s.Aggregate == spec.Rate {
		judge = judgeRate
	}
	return worseAlone(p.evidence, s, judge(p.evidence, s), judge)
}

// judgeLatency decides p(N) by the share of samples that violate the bound, and
// max by their number.
func judgeLatency(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, unitOf(e, s))
	d := e.distribution(s.Metric, s.Selector)
	out.observe(d, s)
	v := latencyViolations(e, s, d)
	if stats.Sum(v.possible).N == 0 {
		return out
	}
	out.count(v.certain, v.possible)
	out.ForeignDoubt = int64(v.doubt)
	if s.Aggregate != spec.Percentile {
		judgeMax(e, &out, v)
		out.Lower, out.Upper = out.ObservedAtLeast, out.ObservedAtMost
		return out
	}
	decide(e, &out, criterionFor(e, s.AllowedShare(), s), v)
	if out.Observed != nil {
		out.Lower, out.Upper = d.interval(s.Quantile)
	}
	return out
}

// judgeMax decides a condition that no sample may violate.
func judgeMax(e *evidence, out *SLO, v violations) {
	possible, cleared := int64(stats.Sum(v.possible).K), int64(stats.Sum(v.cleared).K)
	out.Allowed, out.Cleared, out.Basis = new(int64(0)), &cleared, spec.Counted
	out.Outcome = decideByCount(int64(stats.Sum(withoutDisplaced(e, v.cleared)).K), possible, 0)
	out.HiddenByGenerator = out.Outcome == Inconclusive && stats.Sum(v.certain).K > float64(cleared)
}

// judgeRate decides a share of samples.
func judgeRate(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "share")
	v := rateViolations(e, s)
	total := stats.Sum(v.booked)
	if total.N == 0 {
		return out
	}
	out.count(v.certain, v.possible)
	out.ForeignDoubt = int64(v.doubt)
	decide(e, &out, criterionFor(e, s.AllowedShare(), s), v)
	share := total.K / total.N
	out.Observed = &share
	if deff := out.DesignEffect; deff != nil {
		if lower, upper := stats.ShareInterval(total.N / *deff, total.K / *deff); lower <= share && share <= upper {
			out.Lower, out.Upper = &lower, &upper
		}
	}
	if v.uncertain {
		certain, possible := stats.Sum(v.certain), stats.Sum(v.possible)
		least, most := certain.K/certain.N, possible.K/possible.N
		if least < most {
			out.ObservedAtLeast, out.ObservedAtMost = &least, &most
		}
		if out.Lower != nil {
			out.Lower, out.Upper = new(min(*out.Lower, least)), new(max(*out.Upper, most))
		}
	}
	if s.AtLeast() {
		share = (total.N - total.K) / total.N
		complement(&out.Lower, &out.Upper)
		complement(&out.ObservedAtLeast, &out.ObservedAtMost)
	}
	return out
}

// complement replaces the ends of an interval of a share by those of the rest.
func complement(lower, upper **float64) {
	if *lower != nil && *upper != nil {
		*lower, *upper = new(1-**upper), new(1-**lower)
	}
}

// judgeThroughput decides the implicit SLO: a system that answers some arrivals in time
// and leaves others does not sustain the rate. As the schedule holds an exact number of
// arrivals, they are not a sample: with less than the share completed, in all windows
// or in one, the rate was not sustained. Whether another run would sustain it is
// inferred as for any share.
func judgeThroughput(e *evidence) SLO {
	out := SLO{Outcome: Invalid, SLO: certificate.SLO{
		Flow: e.flow(), Metric: ThroughputMetric, Expression: ThroughputExpression, Unit: "share", Limit: minThroughput, Basis: spec.Counted,
	}}
	completed := e.ended[metric.Completed]
	out.Observed = ratio(completed, e.scheduled)
	if out.Observed == nil {
		return out
	}
	v := throughputViolations(e)
	measured := v.possible
	out.count(measured, measured)
	c := criterionFor(e, 1-minThroughput, spec.SLO{Basis: throughputBasis(e)})
	c.exact = true
	decide(e, &out, c, v)
	if _, lower, upper, ok := stats.RatioInterval(measured); ok {
		out.Lower, out.Upper = new(max(0, 1-upper)), new(min(1, 1-lower))
	}
	return out
}

// throughputBasis is counted where the profile has declared that of each SLO that could be
// inferred; otherwise it is that of the scope.
func throughputBasis(e *evidence) spec.Basis {
	basis := spec.Basis("")
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if s.Kind() == spec.KindSamples && s.Aggregate != spec.Max {
			if basis = s.Basis; basis != spec.Counted {
				return ""
			}
		}
	}
	return basis
}

// throughputViolations counts the transactions that were not completed.
func throughputViolations(e *evidence) violations {
	scheduled := e.counts(metric.TransactionsScheduled, nil)
	uncompleted, own := e.notCompletedBySecond(nil), e.counts(metric.GeneratorUndone, nil)
	if !e.has(metric.GeneratorUndone, nil) {
		own = e.counts(metric.GeneratorDropped, nil)
	}
	cleared := make([]float64, len(uncompleted))
	for i := range uncompleted {
		cleared[i] = max(0, uncompleted[i]-own[i])
	}
	measured := e.bySecond(scheduled, uncompleted)
	return violations{
		certain: measured, possible: measured, cleared: e.bySecond(scheduled, cleared),
		series: e.distribution(metric.TransactionDuration, nil),
	}
}

// count states how many samples violate: exactly, or within bounds.
func (out *SLO) count(certain, possible []stats.Batch) {
	total := stats.Sum(possible)
	out.between(int64(total.N), int64(stats.Sum(certain).K), int64(total.K))
}

// between states that of so many samples at least lo violate, and at most hi.
func (out *SLO) between(samples, lo, hi int64) {
	out.Samples = &samples
	if lo == hi {
		out.Violations = &lo
	} else {
		out.AtLeast, out.AtMost = &lo, &hi
	}
}

// unitOf is the unit of the metric's samples: "count" for metrics of the catalogue
// without one, "ms" for a script's own trend without data.
func unitOf(e *evidence, s spec.SLO) string {
	if d := s.Descriptor(); d.Name != "" {
		return cmp.Or(d.Unit, "count")
	}
	return e.unit(s.Metric)
}

// observe sets the observed percentile or maximum.
func (out *SLO) observe(d *distribution, s spec.SLO) {
	if out.Observed = known(d.all.Quantile(quantileOf(s))); out.Observed != nil {
		out.ObservedAtLeast, out.ObservedAtMost = d.ends(quantileOf(s))
	}
}

// quantileOf is the quantile that an SLO bounds: 1 is the maximum.
func quantileOf(s spec.SLO) float64 {
	if s.Aggregate == spec.Percentile {
		return s.Quantile
	}
	return 1
}

// allowedViolations is how many of n samples may violate a percentile or a maximum.
func allowedViolations(s spec.SLO, n int64) int64 {
	return stats.Allowed(s.AllowedShare(), n)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
