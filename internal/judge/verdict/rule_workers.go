// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

const (
	// unlikeShare is the least difference of the two, as a share of the tightest latency
	// bound (ours): smaller ones decide nothing.
	unlikeShare = 0.1
	// unlikeSamples is the least number of transactions of a worker to compare.
	unlikeSamples = 100
)

// workersEven: all workers saw the same system. One that is much slower than the others
// has a slow path to the target, or a slow machine; one that is much faster may reach
// another system, such as a cache or a stub. Percentiles of the run include both; the
// run is INVALID where the unlike workers decide its verdict.
func workersEven(p *part) Rule {
	r := Rule{Rule: certificate.Rule{
		Limit:  new(float64(rulebook.UnlikeFactor)),
		Detail: "the run has one worker",
	}}
	if len(p.plan.Workers) < 2 {
		return r
	}
	all := compareWorkers(p.evidence)
	if len(all) < 2 {
		r.Detail = "too few transactions to compare the workers"
		return r
	}
	farthest := slices.MaxFunc(all, func(a, b comparedWorker) int {
		return cmp.Or(cmp.Compare(a.factor(), b.factor()), cmp.Compare(a.p95, b.p95))
	})
	r.Observed = new(farthest.factor())
	r.Detail = comparison(p.evidence, farthest)
	for _, group := range unlikeGroups(all) {
		text := groupText(p.evidence, group, len(all))
		if why := decidedBy(p, group); why != "" {
			return Rule{Outcome: Invalid, Rule: certificate.Rule{
				Observed: r.Observed,
				Limit:    r.Limit,
				Detail:   text + ": " + why,
			}}
		}
		if r.Limitation == "" {
			r.Limitation = text
		} else if len(all) > 2 { // one text says all about two workers
			r.Limitation += "; " + text
		}
	}
	return r
}

// comparedWorker is the p95 of a worker's transactions beside those of the others.
type comparedWorker struct {
	source string
	p95    float64 // ms
	others float64 // ms, median p95 of the other workers; of an even number of them, the middle one that is nearer
	unlike bool
}

func (w comparedWorker) slower() bool { return w.p95 > w.others }

// factor is that between the two, at least 1.
func (w comparedWorker) factor() float64 { return max(w.p95/w.others, w.others/w.p95) }

// compareWorkers compares each worker that has enough transactions with the others,
// fastest first.
func compareWorkers(e *evidence) (all []comparedWorker) {
	for _, source := range e.workers() {
		h := e.Timeline.HistBySource(source, metric.TransactionDuration)
		if p95, ok := h.Quantile(0.95); ok && p95 > 0 && h.Count() >= unlikeSamples {
			all = append(all, comparedWorker{source: source, p95: p95})
		}
	}
	slices.SortFunc(all, func(a, b comparedWorker) int {
		return cmp.Or(cmp.Compare(a.p95, b.p95), cmp.Compare(a.source, b.source))
	})
	if len(all) < 2 {
		return all
	}
	for i := range all {
		other := func(k int) float64 { // p95 of the k-th of the others
			if k >= i {
				k++
			}
			return all[k].p95
		}
		n, w := len(all)-1, &all[i]
		w.others = min(max(w.p95, other((n-1)/2)), other(n/2))
		w.unlike = w.factor() > rulebook.UnlikeFactor && differenceMatters(e, *w) && beyondChance(e, *w, len(all))
	}
	return all
}

// differenceMatters reports whether a worker's difference is a large enough part of the tightest
// latency bound, if there is one.
func differenceMatters(e *evidence, w comparedWorker) bool {
	bound, _ := tightestBound(e)
	return math.IsInf(bound, 1) || math.Abs(w.p95-w.others) >= unlikeShare*bound
}

// beyondChance reports whether a worker's difference is significant at stats.Alpha, after
// Bonferroni's correction over all workers: where about 5 % of all transactions are slow,
// chance alone puts the p95 of one worker among these, and that of another not. Tested is
// the factor itself: that more than 5 % of a slower worker's samples exceed the others'
// p95 by it, or less than 5 % of a faster one's are within it.
func beyondChance(e *evidence, w comparedWorker, workers int) bool {
	h := e.Timeline.HistBySource(w.source, metric.TransactionDuration)
	n, level := float64(h.Count()), stats.Alpha/float64(workers)
	if w.slower() {
		over, _ := h.AtLeast(rulebook.UnlikeFactor * w.others)
		return stats.AtLeast(n, float64(over), 0.05) <= level
	}
	_, over := h.AtLeast(w.others / rulebook.UnlikeFactor)
	return stats.AtMost(n, float64(over), 0.05) <= level
}

// unlikeGroups are the slower and the faster ones of the unlike workers, as far as there
// are any.
func unlikeGroups(all []comparedWorker) (groups [][]comparedWorker) {
	for _, slower := range []bool{true, false} {
		other := func(w comparedWorker) bool { return !w.unlike || w.slower() != slower }
		if group := slices.DeleteFunc(slices.Clone(all), other); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// comparison describes the worker that differs most.
func comparison(e *evidence, w comparedWorker) string {
	if w.p95 < w.others {
		return fmt.Sprintf("the median p95 of the other workers is %s times that of the fastest, %s", number(w.factor()), workerName(e, w.source))
	}
	return fmt.Sprintf("the p95 of the slowest worker, %s, is %s times the median of the others", workerName(e, w.source), number(w.factor()))
}

// groupText says what unlike workers saw, of so many that were compared.
func groupText(e *evidence, group []comparedWorker, of int) string {
	const named = 3
	var names []string
	for _, w := range group[:min(len(group), named)] {
		names = append(names, workerName(e, w.source))
	}
	if more := len(group) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	own, others := number(group[0].p95), "the other workers"
	if last := number(group[len(group)-1].p95); last != own {
		own += " to " + last
	}
	if of == 2 {
		others = "the other worker"
	}
	return fmt.Sprintf("%s saw a p95 of %s ms, %s %s ms", joinAnd(names), own, others, number(group[0].others))
}

// workerName names a worker and its machine.
func workerName(e *evidence, source string) string {
	for _, w := range e.Environment.Workers {
		if w.Source == source && w.Host.Name != "" {
			return source + " on " + w.Host.Name
		}
	}
	return source
}

// decidedBy says how unlike workers decide the verdict; empty: they do not. A run that
// would not pass without its slower workers is close to the limit, and they are not why.
func decidedBy(p *part, group []comparedWorker) string {
	sources, who := make([]string, len(group)), "this worker"
	for i, w := range group {
		sources[i] = w.source
	}
	if len(group) > 1 {
		who = "these workers"
	}
	without := map[Outcome]bool{} // outcomes of the SLOs without these workers, as far as is known
	for _, s := range p.slos {
		without[outcomeWithout(p, s, sources)] = true
	}
	classFails := slices.ContainsFunc(p.classes, func(c class) bool {
		return c.outcome == Fail && classOverWithout(c.of(p.evidence), c, sources)
	})
	switch {
	case failed(p) && !classFails && !without[Fail]:
		return "the run fails on " + who + " alone"
	case passes(p) && !group[0].slower() && (len(without) > 1 || !without[Pass]):
		return "without " + who + " the run would not pass"
	}
	return ""
}

// outcomeWithout is the outcome of an SLO, had the samples of these workers been like
// those of the others: the others' counts, scaled to the number of all samples, so that
// fewer samples do not change it. It is the SLO's own where that is not known, because it
// does not rest on samples that the workers alone counted exactly.
func outcomeWithout(p *part, s SLO, sources []string) Outcome {
	asked := askedOf(p.evidence, s)
	if asked == nil || asked.Kind() != spec.KindSamples || s.Samples == nil {
		return s.Outcome
	}
	measured := exactCounts(p.evidence, *asked, metric.Violations)
	cleared := exactCleared(p.evidence, *asked, measured)
	n := stats.Sum(measured).N
	measured = withoutSources(p.evidence, sources, *asked, measured, metric.Violations)
	rest := stats.Sum(measured).N
	if cleared == nil || int64(n) != *s.Samples || rest <= 0 {
		return s.Outcome
	}
	measured = scaled(measured, n/rest)
	cleared = scaled(withoutSources(p.evidence, sources, *asked, cleared, metric.ViolationsCleared), n/rest)
	if asked.Aggregate == spec.Max {
		return decideByCount(int64(stats.Sum(cleared).K), int64(stats.Sum(measured).K), 0)
	}
	by := p.evidence
	if s.With != nil {
		by = p.workersAlone()
	}
	series := by.distribution(asked.Metric, asked.Selector)
	if asked.Aggregate == spec.Rate {
		series = latencySeries(by, *asked)
	}
	return criterionFor(by, asked.AllowedShare(), *asked).decide(measured, cleared, series).outcome
}

// classOverWithout reports whether a class may be over its limit without these workers too. How
// many violations of a class are theirs is not recorded: at least those of theirs, of all
// classes, that their samples of the other ones cannot explain.
func classOverWithout(e *evidence, c class, sources []string) bool {
	judged := c.pool.Metric
	if of := metric.ProtocolOf(judged); of != nil {
		judged = of.Failed
	} else if c.pool.Aggregate != spec.Rate {
		return true // samples of a worker are not counted
	}
	total := stats.Sum(violationsOf(e, c.slo).cleared)
	samples := sumFrom(e, sources, judged+metric.RateTotal, c.slo.Selector)
	others := sumFrom(e, sources, judged+metric.RateTotal, c.pool.Selector) - samples
	violations := sumFrom(e, sources, metric.ViolationsCleared, label("slo", c.pool.ID()))
	theirs := min(samples, max(0, violations-others))
	return total.K-theirs > float64(stats.Allowed(c.slo.AllowedShare(), int64(total.N-samples)))
}

// sumFrom is sum for some sources.
func sumFrom(e *evidence, sources []string, name string, selector []metric.Label) (total float64) {
	for _, span := range e.spans {
		total += sum(e.Timeline.CountsOf(sources, name, selector, span))
	}
	return total
}

// withoutSources subtracts the samples of some workers from the exact counts of an SLO.
func withoutSources(e *evidence, sources []string, s spec.SLO, counted []stats.Batch, violations string) []stats.Batch {
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

// askedOf is the profile's condition of a result; nil: it is an implicit one.
func askedOf(e *evidence, s SLO) *spec.SLO {
	for i, p := range e.Plan.Profile.WholeSLOs() {
		if p.Expression == s.Expression && p.MetricText() == s.Metric {
			return &e.Plan.Profile.WholeSLOs()[i]
		}
	}
	return nil
}
