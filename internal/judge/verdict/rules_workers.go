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
func workersEven(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Limit:  pointer(float64(rulebook.UnlikeFactor)),
		Detail: "the run has one worker",
	}}
	if len(e.plan.Workers) < 2 {
		return r
	}
	all := e.compareWorkers()
	if len(all) < 2 {
		r.Detail = "too few transactions to compare the workers"
		return r
	}
	farthest := slices.MaxFunc(all, func(a, b comparedWorker) int {
		return cmp.Or(cmp.Compare(a.factor(), b.factor()), cmp.Compare(a.p95, b.p95))
	})
	r.Observed = pointer(farthest.factor())
	r.Detail = e.comparison(farthest)
	for _, group := range unlikeGroups(all) {
		text := e.groupText(group, len(all))
		if why := e.decidedBy(group); why != "" {
			r.Outcome, r.Detail, r.Limitation = Invalid, text+": "+why, ""
			return r
		}
		if r.Limitation == "" {
			r.Limitation = text
		} else if len(all) > 2 { // of two workers the one text says all
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
func (e *evidence) compareWorkers() (all []comparedWorker) {
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
		w.unlike = w.factor() > rulebook.UnlikeFactor && e.matters(*w) && e.beyondChance(*w, len(all))
	}
	return all
}

// matters reports whether a worker's difference is a large enough part of the tightest
// latency bound, if there is one.
func (e *evidence) matters(w comparedWorker) bool {
	bound, _ := e.tightestBound()
	return math.IsInf(bound, 1) || math.Abs(w.p95-w.others) >= unlikeShare*bound
}

// beyondChance reports whether a worker's difference is significant at stats.Alpha, after
// Bonferroni's correction over all workers: where about 5 % of all transactions are slow,
// chance alone puts the p95 of one worker among these, and that of another not. Tested is
// the factor itself: that more than 5 % of a slower worker's samples exceed the others'
// p95 by it, or less than 5 % of a faster one's are within it.
func (e *evidence) beyondChance(w comparedWorker, workers int) bool {
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
		var group []comparedWorker
		for _, w := range all {
			if w.unlike && w.slower() == slower {
				group = append(group, w)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// comparison describes the worker that differs most.
func (e *evidence) comparison(w comparedWorker) string {
	if w.p95 < w.others {
		return fmt.Sprintf("the median p95 of the other workers is %s times that of the fastest, %s", number(w.factor()), e.workerName(w.source))
	}
	return fmt.Sprintf("the p95 of the slowest worker, %s, is %s times the median of the others", e.workerName(w.source), number(w.factor()))
}

// groupText says what unlike workers saw, of so many that were compared.
func (e *evidence) groupText(group []comparedWorker, of int) string {
	const named = 3
	var names []string
	for _, w := range group[:min(len(group), named)] {
		names = append(names, e.workerName(w.source))
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
func (e *evidence) workerName(source string) string {
	for _, w := range e.Environment.Workers {
		if w.Source == source && w.Host.Name != "" {
			return source + " on " + w.Host.Name
		}
	}
	return source
}
