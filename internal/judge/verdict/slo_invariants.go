// SPDX-License-Identifier: Apache-2.0

package verdict

import "assay.dev/assay/internal/spec"

func (e *evidence) invariants() (all []Invariant) {
	for i, planned := range e.Plan.Profile.Invariants {
		out := Invariant{Name: planned.Name, Error: "the run ended before it"}
		if i < len(e.Facts.Invariants) {
			fact := e.Facts.Invariants[i]
			if out.Error = fact.Error; fact.Error == "" {
				out.Rows = &fact.Rows
			}
		}
		all = append(all, out)
	}
	return all
}

// judgeInvariants counts the invariants that do not hold. One that was not checked may be
// violated.
func judgeInvariants(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "count")
	n, violated, unknown := int64(0), int64(0), false
	for _, i := range e.invariants() {
		n++
		switch {
		case i.Rows == nil:
			unknown = true
		case *i.Rows > 0:
			violated++
		}
	}
	if n == 0 || violated == 0 && unknown {
		return out
	}
	out.Observed, out.Samples, out.Violations = pointer(float64(violated)), &n, &violated
	out.Outcome = passOrFail(violated == 0)
	return out
}
