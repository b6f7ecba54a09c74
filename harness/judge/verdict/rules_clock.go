package verdict

import (
	"fmt"
	"math"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// clock: the generator's wall clock was not stepped during the run. Latencies are
// measured on a monotonic clock, but persist_lag compares the database's timestamps
// with the generator's wall clock.
func clock(e *evidence) Rule {
	r := Rule{
		Unit:    "ms",
		Outcome: Pass,
		Detail:  "it is not known whether the clock was stepped during the run",
		Advice:  "Synchronise the clocks of all hosts by slewing rather than stepping, and run again.",
	}
	tightest, compared := e.tightestBound()
	if tightest < math.Inf(1) {
		r.Limit = pointer(spec.ClockShare * tightest)
	}
	if e.Facts.ClockStepMs == nil {
		return r
	}
	step := math.Abs(*e.Facts.ClockStepMs)
	r.Observed = &step
	r.Detail = fmt.Sprintf("the generator's wall clock drifted by at most %s ms", number(step))
	if r.Limit == nil || step <= *r.Limit {
		return r
	}
	r.Detail = fmt.Sprintf("the generator's wall clock was stepped by %s ms during the run", number(step))
	if compared {
		r.Outcome = Invalid
		r.Detail += ", which " + metric.PersistLag + " compares with the database's"
		return r
	}
	r.Limitation = r.Detail + "; no latency depends on it"
	return r
}

// tightestBound is the smallest bound of an SLO on a duration, in ms, and whether any
// of these SLOs compares two clocks.
func (e *evidence) tightestBound() (ms float64, compared bool) {
	ms = math.Inf(1)
	for _, s := range e.Plan.Profile.SLOs {
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
