// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// attempts: one PASS in many attempts means less than one in the first, since a system at its
// limits passes at some time.
func attempts(p *part) Rule {
	n, unknown := p.Facts.Attempts, uncountedAttempts(p)
	if n <= 0 {
		return Rule{Limitation: unknown, Rule: certificate.Rule{Detail: cmp.Or(unknown, "a trial is no attempt")}}
	}
	r := Rule{Rule: certificate.Rule{Observed: new(float64(n)), Detail: attemptText(p)}}
	if notPassed(p.Facts.Earlier) > 0 {
		r.Limitations = append(r.Limitations, r.Detail+": a PASS after others shows less than one at the first attempt")
	}
	if unknown != "" {
		r.Limitations = append(r.Limitations, unknown)
	}
	if len(r.Limitations) > 0 {
		r.Limitation = r.Limitations[0]
	}
	return r
}

// uncountedAttempts says which attempts nobody has counted; empty: none.
func uncountedAttempts(p *part) string {
	e := p.Facts.Earlier
	switch {
	case p.Plan.Scope == spec.ScopeTrial:
	case p.Facts.Attempts <= 0 && e != nil && e.Unknown != "":
		return "the number of attempts is not known: " + e.Unknown
	case p.Facts.Attempts <= 0:
		return "the number of attempts is not known"
	case e != nil && e.Unread > 0:
		return fmt.Sprintf("there may be more attempts: %d lines of the journal of attempts cannot be read", e.Unread)
	}
	return ""
}

// attemptText is "attempt 3 at this revision of the service, after 1 FAIL and 1 PASS, 1 of them
// with the same load, SLOs and scripts".
func attemptText(p *part) string {
	text, e := fmt.Sprintf("attempt %d", p.Facts.Attempts), p.Facts.Earlier
	if s := p.Environment.Service; s != nil && len(s.Builds) > 0 {
		text += " at this revision of the service"
	} else {
		text += " at this target, whose revision is not known"
	}
	if e == nil || len(e.Verdicts) == 0 {
		return text
	}
	var before []string
	for _, v := range e.Verdicts {
		word := v.Verdict
		if word == "" {
			word = "without a verdict"
		}
		before = append(before, fmt.Sprintf("%d %s", v.Runs, word))
	}
	text += ", after " + joinAnd(before)
	if earlier := p.Facts.Attempts - 1; e.Same < earlier {
		text += fmt.Sprintf(", %d of them with the same load, SLOs and scripts", e.Same)
	}
	return text
}

// notPassed is the number of earlier attempts that did not pass.
func notPassed(e *record.Earlier) (n int) {
	if e == nil {
		return 0
	}
	for _, v := range e.Verdicts {
		if v.Verdict != Pass.String() {
			n += v.Runs
		}
	}
	return n
}

// attemptsUnknown are the attempts that nobody has counted.
func attemptsUnknown(p *part) (all []certificate.Omission) {
	if text := uncountedAttempts(p); text != "" {
		all = append(all, certificate.Omission{What: text})
	}
	return all
}
