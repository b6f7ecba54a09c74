// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// clock: all parts of the run had one clock. The offset of a worker's machine is
// corrected at the start; what it is off by after that moves the worker's arrivals and
// its seconds. Neither worker nor coordinator follows changes of its wall clock under
// load for that, so that the two findings are independent: the coordinator's wall clock
// is compared with the database's by persist_lag only; latencies are measured on a
// monotonic clock.
func clock(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Detail: "it is not known whether the clock was stepped during the run"}}
	tightest, compared := tightestBound(p.evidence)
	if tightest < math.Inf(1) {
		r.Limit = new(rulebook.ClockShare * tightest)
	}
	if p.Facts.ClockStepMs != nil {
		judgeStep(p.evidence, &r, math.Abs(*p.Facts.ClockStepMs), compared)
	}
	judgeDrift(p.evidence, &r)
	return r
}

// judgeStep judges the largest change of the coordinator's wall clock, in ms.
func judgeStep(e *evidence, r *Rule, step float64, compared bool) {
	r.Observed = &step
	r.Detail = fmt.Sprintf("the coordinator's wall clock drifted by at most %s ms", number(step))
	if r.Limit == nil || step <= *r.Limit {
		return
	}
	r.Detail = fmt.Sprintf("the coordinator's wall clock was stepped by %s ms during the run", number(step))
	if compared {
		r.Outcome = Invalid
		r.Detail += ", which " + metric.PersistLag + " compares with the database's"
		return
	}
	r.Limitation = r.Detail + "; no latency depends on it"
}

// judgeDrift judges the clocks of the workers: INVALID where one was certainly off by
// more than the limit in some second, a limitation where it may have been.
func judgeDrift(e *evidence, r *Rule) {
	all := clockReadings(e)
	if len(all) == 0 {
		return
	}
	largest := slices.MaxFunc(all, func(a, b clockReading) int { return cmp.Compare(a.off, b.off) })
	surest := slices.MaxFunc(all, func(a, b clockReading) int { return cmp.Compare(a.certain(), b.certain()) })
	text := func(c clockReading) string {
		return fmt.Sprintf("the clock of %s drifted by %s ms against the coordinator's", workerName(e, c.source), number(c.off))
	}
	switch {
	case r.Limit != nil && surest.certain() > *r.Limit && r.Outcome == Invalid:
		r.Detail += "; " + text(surest) + " during the run"
	case r.Limit != nil && surest.certain() > *r.Limit:
		r.Outcome, r.Observed, r.Detail = Invalid, &surest.off, text(surest)+" during the run"
	case r.Limit != nil && largest.off > *r.Limit:
		unsure := fmt.Sprintf("%s, known to within %s ms", text(largest), number(largest.within))
		if r.Limitation != "" {
			unsure = r.Limitation + "; " + unsure
		}
		r.Limitation = unsure
		fallthrough
	default:
		r.Detail += "; " + text(largest)
		if r.Observed == nil || largest.off > *r.Observed {
			r.Observed = &largest.off
		}
	}
}

// clockReading is by how much a worker's clock was off in one second, after the
// correction at the start. With d1 and d2, the delays of a request and of its answer, the
// offset as measured (theta of RFC 5905, section 8) is wrong by |d1 - d2| / 2, which is at
// most half of the round trip, d1 + d2, of the same exchange; those of other seconds say
// nothing of it. The correction adds no error, however wrong: it is what was applied.
type clockReading struct {
	source string
	off    float64 // ms, as measured, without its sign
	within float64 // ms
}

// certain is by how much the clock was off at least, in ms; negative where it may not
// have been off at all.
func (c clockReading) certain() float64 { return c.off - c.within }

// clockReadings are those of all workers from the start of the load to the end of the
// schedule. Workers on the coordinator's machine have its clock.
func clockReadings(e *evidence) (all []clockReading) {
	span := wholeLoad(e)
	for _, w := range e.Environment.Workers {
		if w.Local || w.Source == "" { // no source would select the readings of all
			continue
		}
		drift, known := e.Timeline.Gauge(metric.WorkerClockDrift, nil, w.Source, span)
		roundTrip, measured := e.Timeline.Gauge(metric.WorkerRoundTrip, nil, w.Source, span)
		for i := range drift {
			if known[i] && measured[i] {
				all = append(all, clockReading{w.Source, math.Abs(drift[i]), roundTrip[i] / 2})
			}
		}
	}
	return all
}

// tightestBound is the smallest bound of an SLO on a duration, in ms, and whether any
// of these SLOs compares two clocks.
func tightestBound(e *evidence) (ms float64, compared bool) {
	ms = math.Inf(1)
	for _, s := range e.Plan.Profile.AllSLOs() {
		switch {
		case s.Metric == metric.PersistLag:
			compared = true
		case s.Aggregate == spec.Rate || s.Aggregate == spec.Exact:
			continue
		case unitOf(e, s) != "ms":
			continue
		}
		ms = min(ms, s.Bound)
	}
	return ms, compared
}
