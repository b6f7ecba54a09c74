// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// judgeGoodput decides an SLO on goodput: in each overload stage, the transactions that
// completed within the bound of the latency SLO, as a share of those that the target rate
// schedules in the same time. More than the target is offered, so that the share may be over
// 1. As everywhere, PASS is decided on what was measured, and FAIL without the generator's
// own delay. Where the generator did not deliver the overload, or the run ended before it, it
// does not pass.
func judgeGoodput(p *part, s spec.SLO) SLO {
	out := newSLO(s, "share")
	within, ok := p.Plan.Profile.InTime()
	if !ok {
		return out
	}
	meets := func(share float64) bool {
		return share > s.Bound || s.Operator == ">=" && share >= s.Bound
	}
	outcome, allowed := Pass, 0.0
	var certain, possible, without []stats.Batch
	spans, whole := overloads(p.evidence)
	for _, span := range spans {
		o := p.over(span)
		if !o.scheduled.found {
			return newSLO(s, "share")
		}
		v := latencyViolations(o, within, o.distribution(metric.TransactionDuration, nil))
		planned := p.plan.Target * float64(o.seconds)
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
			outcome = Inconclusive
		}
		if out.Observed == nil || measured < *out.Observed {
			out.Observed, out.Lower, out.Upper = &measured, &measured, &cleared
		}
	}
	if out.Observed == nil {
		return out
	}
	out.count(certain, possible)
	out.Outcome, out.Allowed, out.Cleared = outcome, new(int64(allowed)), new(int64(stats.Sum(without).K))
	out.HiddenByGenerator = outcome == Inconclusive
	out.hide(undeliveredOverload(p.evidence))
	if !whole && out.Outcome == Pass {
		out.Outcome, out.Doubt = Inconclusive, "the run ended before the overload did"
	}
	return out
}

// undeliveredOverload is undeliveredLoad for the first overload stage of which it says
// something.
func undeliveredOverload(e *evidence) string {
	spans, _ := overloads(e)
	for _, span := range spans {
		if text := undeliveredLoad(e.over(span)); text != "" {
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
	total := stats.Sum(counted)
	return total.N - total.K
}
