// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
)

// faultsInjected: the run did to the system what the profile says.
func faultsInjected(e *evidence) Rule {
	planned := e.Plan.Profile.Faults
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Observed: pointer(0.0), Limit: pointer(float64(len(planned)))}}
	var problems []string
	for i, f := range planned {
		var fact record.Fault
		if i < len(e.Facts.Faults) {
			fact = e.Facts.Faults[i]
		}
		switch {
		case fact.EndError != "":
			problems = append(problems, fmt.Sprintf("fault %d (%s) could not be ended: %s", i+1, f, fact.EndError))
			continue
		case fact.Error != "" || fact.At.IsZero():
			problems = append(problems, fmt.Sprintf("fault %d (%s) was not injected: %s", i+1, f, cmp.Or(fact.Error, "no reason given")))
			continue
		}
		*r.Observed++
	}
	r.Detail = fmt.Sprintf("%d of %d faults were injected and ended", int(*r.Observed), len(planned))
	if len(problems) > 0 {
		r.Outcome, r.Detail = Invalid, joinFirst(problems, 3)
	}
	return r
}
