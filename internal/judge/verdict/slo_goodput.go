// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// judgeGoodput decides an SLO on goodput: in each overload stage, the transactions that
// completed within the bound of the latency SLO, as a share of those that the target rate
// schedules in the same time. More than the target is offered, so that the share may be over
// 1. It must hold over the stage, and no outage may interrupt it. As everywhere, PASS is decided
// on what was measured, and FAIL without the generator's own delay. Where the generator did not
// deliver the overload, or the run ended before it, it does not pass.
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
	undelivered := undeliveredOverload(p.evidence)
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
		out.lowest(measured, cleared)
		from, to, outage := worstOutage(v.possible, s.Bound*p.plan.Target)
		if outage {
			planned := p.plan.Target * float64(to-from)
			out.lowest(goodput(v.possible[from:to])/planned, goodput(v.cleared[from:to])/planned)
		}
		// Load that comes late comes in bursts, and an outage may be their effect.
		from, to, certainly := worstOutage(v.cleared, s.Bound*p.plan.Target)
		switch {
		case !meets(cleared):
			outcome = Fail
			out.Seconds = append(out.Seconds, span)
		case certainly && undelivered == "":
			outcome = Fail
			out.Seconds = append(out.Seconds, record.Span{From: span.From + int64(from), To: span.From + int64(to)})
		case outcome == Pass && (outage || !meets(measured)):
			outcome = Inconclusive
		}
	}
	if out.Observed == nil {
		return out
	}
	out.count(certain, possible)
	out.Outcome, out.Allowed, out.Cleared = outcome, new(int64(allowed)), new(int64(stats.Sum(without).K))
	out.HiddenByGenerator = outcome == Inconclusive
	out.hide(undelivered)
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
		out.Outcome, out.HiddenByGenerator, out.Doubt = Inconclusive, true, "in the overload "+undelivered
	}
}

// lowest sets the observed share, and the one without the generator's own delay, to the lowest.
func (out *SLO) lowest(measured, cleared float64) {
	if out.Observed == nil || measured < *out.Observed {
		out.Observed, out.Lower, out.Upper = &measured, &measured, &cleared
	}
}

// An outage costs at least as much as is due in minOutage seconds: two whole ones, in which nearly
// nothing completes in time. It is looked for in up to a minute; by chance there is one once in a
// thousand times.
const (
	minOutage    = 1.5
	longestSpan  = 60
	rareOutageLn = 7 // e^7 = 1,097
)

// worstOutage finds the seconds, up to longestSpan, in which goodput fell furthest behind what is
// due of those that arrive in each of them, so far that it is an outage, and is not due to chance
// (Chernoff's bound for Poisson counts, in so many spans).
func worstOutage(counted []stats.Batch, due float64) (from, to int, found bool) {
	rare := rareOutageLn + math.Log(float64(len(counted)*min(len(counted), longestSpan)))
	worst := minOutage * due
	for first := range counted {
		good, expected := 0.0, 0.0
		for i, b := range counted[first:min(first+longestSpan, len(counted))] {
			good, expected = good+b.N-b.K, expected+min(due, b.N)
			unlikely := expected - good
			if good > 0 {
				unlikely += good * math.Log(good/expected)
			}
			if behind := expected - good; behind >= worst && behind > 0 && unlikely >= rare {
				worst, from, to, found = behind, first, first+i+1, true
			}
		}
	}
	return from, to, found
}

// goodput counts the samples that do not violate.
func goodput(counted []stats.Batch) float64 {
	total := stats.Sum(counted)
	return total.N - total.K
}
