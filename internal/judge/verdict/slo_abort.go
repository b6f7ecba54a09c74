// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// guarded reports whether a condition on something else than the load decides the run.
func (e *evidence) guarded() bool { return e.aborted != nil && e.aborted.Guards() }

// abortIsSLO reports whether the abort is a row of these SLOs: that of the whole run.
func (e *evidence) abortIsSLO() bool { return e.aborted != nil && !e.guarded() && e.flow() == "" }

func (e *evidence) abortion() *Abort {
	a := e.Facts.Aborted
	if a == nil {
		return nil
	}
	out := &Abort{
		Condition: a.Metric, Expression: a.Expression, Protects: a.Protects, SLO: !a.Guards(), Truncated: e.aborted != nil,
		Unit: a.Unit, Limit: a.Limit, From: time.Unix(a.From, 0).UTC(), To: time.Unix(a.To, 0).UTC(),
	}
	switch {
	case out.SLO:
		out.Protects, out.Unit = "the target", "share"
	case out.Unit == "":
		out.Unit = "count"
	}
	for _, r := range a.Observed {
		out.Observed = append(out.Observed, Reading{At: time.Unix(r.Second, 0).UTC(), Value: r.Value})
	}
	return out
}

// judgeAbort reports the rate of the load that stopped the run as a failed SLO: by its
// profile, a system under which it holds does not sustain the load.
func judgeAbort(e *evidence) SLO {
	a := e.aborted
	out := SLO{Outcome: Fail, SLO: certificate.SLO{
		Metric: a.Metric, Expression: "abort: " + a.Expression, Unit: "share", Limit: a.Limit, Basis: spec.Counted,
	}}
	if a.Total > 0 {
		samples, violations := int64(math.Round(a.Total)), int64(math.Round(a.Occurred))
		out.Observed, out.Samples, out.Violations = pointer(a.Occurred/a.Total), &samples, &violations
	}
	return out
}

// markTruncated makes PASS and INVALID undecided: a truncated window cannot show that
// an SLO holds, or that it would have no data.
func markTruncated(slos []SLO) []SLO {
	for i := range slos {
		if slos[i].Outcome == Pass || slos[i].Outcome == Invalid {
			slos[i].Outcome = Inconclusive
		}
	}
	return slos
}

// abortText says when and why the run was aborted.
func (e *evidence) abortText() string {
	a := e.aborted
	when := fmt.Sprintf("%d s after its start, before its judged windows", a.To-e.Facts.T0.Unix())
	if a.To >= e.Facts.T0.Add(e.judgedEnd()).Unix() {
		when = fmt.Sprintf("%d s after its start, %s,", a.To-e.Facts.T0.Unix(), e.beyondWindows())
	} else if record.SpanOf(e.Facts.T0, e.plan.Judged[0]).From < a.To {
		when = fmt.Sprintf("after %d of the %d judged seconds", e.seconds, e.plannedSeconds())
	}
	text := fmt.Sprintf("aborted %s %s", when, a)
	if a.Guards() {
		if read := e.abortion().Range(); read != "" {
			text += ", " + read + " observed"
		}
		text += "; that is a condition of the profile, not an SLO of the system"
	}
	return text
}
