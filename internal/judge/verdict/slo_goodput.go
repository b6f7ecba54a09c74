// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// overloads are the seconds of the overload stages that the run had; whole reports whether
// it had each of them to its end.
func (e *evidence) overloads() (spans []record.Span, whole bool) {
	whole = true
	for _, s := range e.plan.Stages {
		if s.Name != plan.Overload {
			continue
		}
		span := record.SpanOf(e.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
		planned := span.To
		span.To = min(span.To, e.loadEnd())
		whole = whole && span.To == planned
		if span.Seconds() > 0 {
			spans = append(spans, span)
		}
	}
	return spans, whole
}

// judgeGoodput decides an SLO on goodput: in each overload stage, the transactions that
// completed within the bound of the latency SLO, as a share of those that the target rate
// schedules in the same time. More than the target is offered, so that the share may be over
// 1. As everywhere, PASS is decided on what was measured, and FAIL without the generator's
// own delay. Where the generator did not deliver the overload, or the run ended before it, it
// does not pass.
func judgeGoodput(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "share")
	within, ok := e.Plan.Profile.InTime()
	if !ok {
		return out
	}
	meets := func(share float64) bool {
		return share > s.Bound || s.Operator == ">=" && share >= s.Bound
	}
	outcome, allowed, undelivered := Pass, 0.0, ""
	var certain, possible, without []stats.Batch
	spans, whole := e.overloads()
	for _, span := range spans {
		o := e.over(span)
		if !o.scheduled.found {
			return newSLO(s, "share")
		}
		v := o.latencyViolations(within, o.distribution(metric.TransactionDuration, nil))
		undelivered = cmp.Or(undelivered, o.undelivered())
		planned := e.plan.Target * float64(o.seconds)
		measured := goodput(v.possible) / planned
		cleared := max(measured, goodput(v.cleared)/planned)
		certain, possible, without = append(certain, v.certain...), append(possible, v.possible...), append(without, v.cleared...)
		allowed += max(0, stats.Sum(v.possible).N-s.Bound*planned)
		switch {
		case meets(measured):
		case !meets(cleared):
			outcome = Fail
			out.Seconds = append(out.Seconds, span)
		case outcome == Pass:
			outcome, out.HiddenByGenerator = Inconclusive, true
		}
		if out.Observed == nil || measured < *out.Observed {
			out.Observed, out.Lower, out.Upper = &measured, &measured, &cleared
		}
	}
	if out.Observed == nil {
		return out
	}
	out.count(certain, possible)
	out.Outcome, out.Allowed, out.Cleared = outcome, pointer(int64(allowed)), pointer(int64(stats.Sum(without).K))
	if out.Outcome != Inconclusive {
		out.HiddenByGenerator = false
	}
	out.hide(undelivered)
	if !whole && out.Outcome == Pass {
		out.Outcome, out.Doubt = Inconclusive, "the run ended before the overload did"
	}
	return out
}

// undelivered says how much of the load the generator itself lost, or started late, where
// that is more than its rules allow; empty: it delivered the load.
func (e *evidence) undelivered() string {
	if dropped := e.generatorDropped(); over(ratio(dropped, e.scheduled), e.limits.GeneratorDrops) {
		return fmt.Sprintf("the generator lost %d of %d arrivals", dropped.n, e.scheduled.n)
	}
	if e.displaced() {
		return fmt.Sprintf("the generator itself started %d of %d transactions more than %s late", e.displacedSlots().n, e.scheduled.n, e.plan.DisplacedAfter)
	}
	return ""
}

// undeliveredOverload is undelivered for the first overload stage of which it says
// something.
func (e *evidence) undeliveredOverload() string {
	spans, _ := e.overloads()
	for _, span := range spans {
		if text := e.over(span).undelivered(); text != "" {
			return text
		}
	}
	return ""
}

// hide leaves an SLO undecided that would hold under an overload that the generator did
// not deliver; undelivered is empty where it did.
func (out *SLO) hide(undelivered string) {
	if undelivered != "" && out.Outcome == Pass {
		out.Outcome, out.HiddenByGenerator, out.Doubt = Inconclusive, true, "of the overload "+undelivered
	}
}

// goodput counts the samples that do not violate.
func goodput(counted []stats.Batch) float64 {
	total := stats.Sum(slices.Clone(counted))
	return total.N - total.K
}
