package verdict

import (
	"fmt"
	"math"

	"assay/harness/spec"
)

// clock: nobody set the generator's wall clock during the run. Latencies are
// measured on a clock that cannot be set; but when a transaction was persisted
// is told by the database, and compared with the generator's wall clock.
func clock(e *evidence) Rule {
	r := Rule{
		Unit:    "ms",
		Outcome: Pass,
		Detail:  "it is not known whether the clock was set during the run",
		Advice:  "Keep the clocks of all hosts synchronised by slewing, and run it again.",
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
	r.Detail = fmt.Sprintf("the generator's clock was off by at most %s ms from where it started", number(step))
	if r.Limit == nil || step <= *r.Limit {
		return r
	}
	r.Detail = fmt.Sprintf("the generator's clock was set by %s ms during the run", number(step))
	if compared {
		r.Outcome = Invalid
		r.Detail += ", which " + spec.PersistLagMetric + " compares with the database's"
		return r
	}
	r.Limitation = r.Detail + "; no latency depends on it"
	return r
}

// tightestBound is the smallest bound of an SLO on a time, in ms; and whether
// one of them compares two clocks.
func (e *evidence) tightestBound() (ms float64, compared bool) {
	ms = math.Inf(1)
	for _, s := range e.Plan.Profile.SLOs {
		switch {
		case s.Metric == spec.PersistLagMetric:
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
