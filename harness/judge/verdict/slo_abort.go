package verdict

import (
	"fmt"
	"math"

	"assay/harness/observe/record"
	"assay/harness/spec"
)

// judgeAbort is the condition that stopped the run: by its profile, a system
// under which it holds does not sustain the load.
func judgeAbort(e *evidence) SLO {
	a := e.aborted
	out := SLO{Metric: a.Metric, Expression: "abort: " + a.Expression, Unit: "share", Limit: a.Share, Basis: spec.Counted, Outcome: Fail}
	if a.Total > 0 {
		samples, violations := int64(math.Round(a.Total)), int64(math.Round(a.Occurred))
		out.Observed, out.Samples, out.Violations = pointer(a.Occurred/a.Total), &samples, &violations
	}
	return out
}

// markTruncated leaves undecided what a truncated window cannot show: that an SLO
// holds, or that it has no data.
func markTruncated(slos []SLO) []SLO {
	for i := range slos {
		if slos[i].Outcome == Pass || slos[i].Outcome == Invalid {
			slos[i].Outcome = Inconclusive
		}
	}
	return slos
}

// abortText tells when and why the run was aborted.
func (e *evidence) abortText() string {
	a := e.aborted
	when := fmt.Sprintf("%d s after its start, before its judged windows", a.To-e.Facts.T0.Unix())
	if record.SpanOf(e.Facts.T0, e.plan.Judged[0]).From < a.To {
		when = fmt.Sprintf("after %d of the %d judged seconds", e.seconds, e.plannedSeconds())
	}
	return fmt.Sprintf("aborted %s to protect the target: %s %s", when, a.Metric, a.Expression)
}
