package verdict

import (
	"fmt"
	"math"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// clock: all parts of the run had one clock. The offset of a worker's machine is
// corrected at the start; what it drifts by after that moves the worker's arrivals and
// its seconds. The coordinator's wall clock is compared with the database's by
// persist_lag; latencies are measured on a monotonic clock.
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
	worker, drift := e.driftingWorker()
	if e.Facts.ClockStepMs != nil {
		e.judgeStep(&r, math.Abs(*e.Facts.ClockStepMs), compared)
	}
	if worker.source == "" || r.Observed != nil && *r.Observed >= drift {
		return r
	}
	r.Observed = &drift
	text := fmt.Sprintf("the clock of %s drifted by %s ms against the coordinator's", e.workerName(worker.source), number(drift))
	if r.Limit == nil || drift <= *r.Limit {
		return r
	}
	// What the round trips leave open is no evidence.
	if worker.certain > *r.Limit {
		r.Outcome, r.Detail = Invalid, text+" during the run"
	} else if r.Outcome == Pass {
		r.Limitation = fmt.Sprintf("%s, known to within %s ms", text, number(drift-worker.certain))
	}
	return r
}

// judgeStep judges the largest change of the coordinator's wall clock, in ms.
func (e *evidence) judgeStep(r *Rule, step float64, compared bool) {
	r.Observed = &step
	r.Detail = fmt.Sprintf("the generator's wall clock drifted by at most %s ms", number(step))
	if r.Limit == nil || step <= *r.Limit {
		return
	}
	r.Detail = fmt.Sprintf("the generator's wall clock was stepped by %s ms during the run", number(step))
	if compared {
		r.Outcome = Invalid
		r.Detail += ", which " + metric.PersistLag + " compares with the database's"
		return
	}
	r.Limitation = r.Detail + "; no latency depends on it"
}

// drifting is a worker whose clock changed against the coordinator's.
type drifting struct {
	source  string
	certain float64 // ms, without what the round trips leave open
}

// driftingWorker is the worker whose clock certainly drifted most, and the drift as
// measured, in ms. Workers on the coordinator's machine have its clock.
func (e *evidence) driftingWorker() (worst drifting, drift float64) {
	for _, w := range e.Environment.Workers {
		if w.Local {
			continue
		}
		measured, roundTrip := largest(e.gauges(w.Source, metric.WorkerClockDrift)), largest(e.gauges(w.Source, metric.WorkerRoundTrip))
		if measured == nil || roundTrip == nil {
			continue
		}
		// The offset is known to within half of the round trip, now and at the start.
		certain := max(0, math.Abs(*measured)-*roundTrip)
		if worst.source == "" || certain > worst.certain {
			worst, drift = drifting{w.Source, certain}, math.Abs(*measured)
		}
	}
	return worst, drift
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
