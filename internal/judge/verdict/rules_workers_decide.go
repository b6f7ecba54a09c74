// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// decidedBy says how unlike workers decide the verdict; empty: they do not. A run that
// would not pass without its slower workers is close to the limit, and they are not why.
func (e *evidence) decidedBy(group []comparedWorker) string {
	sources, who := make([]string, len(group)), "this worker"
	for i, w := range group {
		sources[i] = w.source
	}
	if len(group) > 1 {
		who = "these workers"
	}
	switch {
	case e.failed() && !e.failsWithout(sources):
		return "the run fails on " + who + " alone"
	case e.passes() && !group[0].slower() && !e.passesWithout(sources):
		return "without " + who + " the run would not pass"
	}
	return ""
}

// failsWithout reports whether the run would have failed without these workers too, as
// far as is known.
func (e *evidence) failsWithout(sources []string) bool {
	return slices.ContainsFunc(e.classes, func(c class) bool { return c.outcome == Fail && c.of(e).endpointOverWithout(c, sources) }) ||
		slices.ContainsFunc(e.slos, func(s SLO) bool { return e.outcomeWithout(s, sources) == Fail })
}

// passesWithout likewise for a run that passes.
func (e *evidence) passesWithout(sources []string) bool {
	return !slices.ContainsFunc(e.slos, func(s SLO) bool { return e.outcomeWithout(s, sources) != Pass })
}

// outcomeWithout is the outcome of an SLO, had the samples of these workers been like
// those of the others: the others' counts, scaled to the number of all samples, so that
// fewer samples do not change it. It is the SLO's own where that is not known, because it
// does not rest on samples that the workers alone counted exactly.
func (e *evidence) outcomeWithout(s SLO, sources []string) Outcome {
	asked := e.sloOf(s)
	if asked == nil || asked.Kind() != spec.KindSamples || s.Samples == nil {
		return s.Outcome
	}
	measured := e.exactCounts(*asked, metric.Violations)
	cleared := e.exactCleared(*asked, measured)
	n := stats.Sum(measured).N
	measured = e.without(sources, *asked, measured, metric.Violations)
	rest := stats.Sum(measured).N
	if cleared == nil || int64(n) != *s.Samples || rest <= 0 {
		return s.Outcome
	}
	measured = scaled(measured, n/rest)
	cleared = scaled(e.without(sources, *asked, cleared, metric.ViolationsCleared), n/rest)
	if asked.Aggregate == spec.Max {
		return decideByCount(int64(stats.Sum(cleared).K), int64(stats.Sum(measured).K), 0)
	}
	if s.With != nil {
		e = e.workersAlone()
	}
	series := e.distribution(asked.Metric, asked.Selector)
	if asked.Aggregate == spec.Rate {
		series = e.latencySeries(*asked)
	}
	return e.criterionFor(asked.AllowedShare(), *asked).decide(measured, cleared, series).outcome
}

// endpointOverWithout reports whether an endpoint may be over its limit without these
// workers too. How many violations of an endpoint are theirs is not recorded: at least
// those of theirs, of all endpoints, that their requests to the other ones cannot explain.
func (e *evidence) endpointOverWithout(c class, sources []string) bool {
	all := c.slo
	all.Selector = all.Selector[1:] // without the endpoint's name
	total := stats.Sum(e.violationsOf(c.slo).cleared)
	judged := metric.ProtocolOf(c.slo.Metric).Failed + metric.RateTotal
	requests := e.sumFrom(sources, judged, c.slo.Selector)
	others := e.sumFrom(sources, judged, all.Selector) - requests
	violations := e.sumFrom(sources, metric.ViolationsCleared, label("slo", all.ID()))
	theirs := min(requests, max(0, violations-others))
	return total.K-theirs > float64(stats.Allowed(c.slo.AllowedShare(), int64(total.N-requests)))
}

// sumFrom is sum for some sources.
func (e *evidence) sumFrom(sources []string, name string, selector []metric.Label) (total float64) {
	for _, span := range e.spans {
		total += sum(e.Timeline.CountsOf(sources, name, selector, span))
	}
	return total
}

// without subtracts the samples of some workers from the exact counts of an SLO.
func (e *evidence) without(sources []string, s spec.SLO, counted []stats.Batch, violations string) []stats.Batch {
	rest, first := slices.Clone(counted), 0
	for _, span := range e.spans {
		n := e.Timeline.CountsOf(sources, metric.Judged, label("slo", s.ID()), span)
		k := e.Timeline.CountsOf(sources, violations, label("slo", s.ID()), span)
		for i := range n {
			rest[first+i].N -= n[i]
			rest[first+i].K -= k[i]
		}
		first += len(n)
	}
	return rest
}

// scaled multiplies counts, by a little more than is given, so that a whole total is not
// rounded down below it.
func scaled(counted []stats.Batch, by float64) []stats.Batch {
	all := slices.Clone(counted)
	by *= 1 + 1e-12
	for i := range all {
		all[i].N, all[i].K = all[i].N*by, all[i].K*by
	}
	return all
}

// sloOf is the profile's condition of a result; nil: it is an implicit one.
func (e *evidence) sloOf(s SLO) *spec.SLO {
	for i, p := range e.Plan.Profile.WholeSLOs() {
		if p.Expression == s.Expression && p.MetricText() == s.Metric {
			return &e.Plan.Profile.WholeSLOs()[i]
		}
	}
	return nil
}
