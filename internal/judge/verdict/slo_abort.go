// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// abortGuards reports whether a condition on something else than the load decides the run.
func abortGuards(e *evidence) bool { return e.aborted != nil && e.aborted.Guards() }

// abortIsSLO reports whether the abort is a row of these SLOs: that of the whole run.
func abortIsSLO(e *evidence) bool { return e.aborted != nil && !abortGuards(e) && e.flow() == "" }

// judgeAbort reports the rate of the load that stopped the run as a failed SLO: by its
// profile, a system under which it holds does not sustain the load.
func judgeAbort(a *record.Abort) SLO {
	out := SLO{Outcome: Fail, SLO: certificate.SLO{
		Metric: a.Metric, Expression: "abort: " + a.Expression, Unit: "share", Limit: a.Limit, Basis: spec.Counted,
	}}
	if a.Total > 0 {
		out.Samples, out.Violations = new(int64(math.Round(a.Total))), new(int64(math.Round(a.Occurred)))
		out.Observed = new(a.Occurred / a.Total)
	}
	return out
}

// abortText says when and why the run was aborted.
func abortText(e *evidence) string {
	a := e.aborted
	when := fmt.Sprintf("%d s after its start, before its judged windows", a.To-e.Facts.T0.Unix())
	if a.To >= e.Facts.T0.Add(judgedEnd(e)).Unix() {
		when = fmt.Sprintf("%d s after its start, %s,", a.To-e.Facts.T0.Unix(), beyondWindows(e))
	} else if record.SpanOf(e.Facts.T0, e.plan.Judged[0]).From < a.To {
		when = fmt.Sprintf("after %d of the %d judged seconds", e.seconds, e.plannedSeconds())
	}
	text := fmt.Sprintf("aborted %s %s", when, a)
	if !a.Guards() {
		return text
	}
	if read := describeAbort(e).Range(); read != "" {
		text += ", " + read + " observed"
	}
	return text + "; that is a condition of the profile, not an SLO of the system"
}
