// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"assay.dev/assay/certificate"
)

// The rules of this file never make a run INVALID: they state limitations.

// coLocation: processes on the generator's host compete with it.
func coLocation(e *evidence) Rule {
	shared := e.Environment.CoLocation
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Observed: pointer(float64(len(shared))),
		Detail:   "neither service nor database is known to share the generator's host",
	}}
	if len(shared) > 0 {
		r.Detail = neighbours(shared) + " share a host"
		r.Limitation = r.Detail
	}
	return r
}

// neighbours is "generator, service and database".
func neighbours(shared []string) string { return joinAnd(append([]string{"generator"}, shared...)) }

// tool: a binary built from known sources can be rebuilt.
func tool(e *evidence) Rule {
	t := e.Plan.Tool
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Detail: fmt.Sprintf("built from revision %s", t.Revision)}}
	if t.Dirty || t.Revision == "" {
		r.Detail = "the binary was built from changed or unknown sources"
		r.Limitation = r.Detail
	}
	return r
}

// attempts: one PASS in many attempts means less than one in the first.
func attempts(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Detail: "the number of attempts is not known"}}
	if n := e.Facts.Attempts; n > 0 {
		r.Observed = pointer(float64(n))
		r.Detail = fmt.Sprintf("attempt %d of this profile with this tool", n)
	}
	return r
}
