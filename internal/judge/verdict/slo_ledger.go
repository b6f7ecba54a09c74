// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// judgeLedger decides by the ledger of the whole run: a transaction acknowledged
// outside the judged windows must be persisted too.
func judgeLedger(p *part, s spec.SLO) SLO {
	if s.Metric == metric.PersistLag {
		return judgePersistLag(p.evidence, s)
	}
	out := newSLO(s, "count")
	l := p.Ledger
	if l == nil || l.Acknowledged == 0 {
		return out // a script that acknowledges nothing shows nothing
	}
	count, samples := l.Missing, l.Acknowledged
	if s.Count == "duplicated" {
		count, samples = l.Duplicated, l.Persisted
	}
	out.Observed, out.Samples, out.Violations = new(float64(count)), &samples, &count
	out.Outcome = ledgerOutcome(p.evidence, float64(count) == s.Bound)
	switch {
	case s.Count != "missing" || out.Outcome != Fail:
	case p.Facts.Ledger.Unfinished:
		out.Outcome = Inconclusive // they may only be late, which persist_lag judges
	case count > 0 && lostWrites(p.Run) == 0:
		out.Outcome = Invalid
	}
	return out
}

// judgePersistLag counts a missing transaction as a violation: its lag is infinite. Which clock
// has dated the rows is not known: it may be the database's, or the service's, so that a verdict
// must hold by both.
func judgePersistLag(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "ms")
	if e.Ledger == nil {
		return out
	}
	n := e.Ledger.Matched() + e.Ledger.Missing
	if n == 0 {
		return out
	}
	allowed, lost, misdated := allowedViolations(s, n), lostWrites(e.Run), e.Misdated() != ""
	late := func(ahead float64) (n int64) {
		for millis, identities := range e.Ledger.Lags {
			if s.Violates(max(0, float64(millis)-ahead)) {
				n += identities
			}
		}
		return n
	}
	least, most := late(0), late(0)
	if ahead := clockAhead(e.Run, s.Bound); ahead != 0 {
		least, most = min(least, late(ahead)), max(most, late(ahead))
	}
	least, most = least+lost, most+e.Ledger.Missing
	if misdated {
		least, most = lost, n
	} else {
		out.Observed = known(e.Ledger.Lag(quantileOf(s)))
	}
	out.Samples, out.Violations, out.Allowed = &n, &most, &allowed
	switch {
	case most <= allowed:
		out.Outcome = ledgerOutcome(e, true)
	case least > allowed:
		out.Violations, out.Outcome = &least, Fail
	}
	return out
}

// ledgerOutcome makes an incomplete ledger INVALID rather than PASS; transactions that
// it shows as missing still FAIL.
func ledgerOutcome(e *evidence, holds bool) Outcome {
	if holds && e.Facts.Ledger.State == record.StateFailed {
		return Invalid
	}
	return passOrFail(holds)
}

// judgeInvariants counts the invariants that do not hold. One that was not checked may be
// violated.
func judgeInvariants(p *part, s spec.SLO) SLO {
	out := newSLO(s, "count")
	n, violated, unknown := int64(0), int64(0), false
	for _, i := range describeInvariants(p.evidence) {
		n++
		unknown = unknown || i.Rows == nil
		if i.Rows != nil && *i.Rows > 0 {
			violated++
		}
	}
	if n == 0 || violated == 0 && unknown {
		return out
	}
	out.Observed, out.Samples, out.Violations = new(float64(violated)), &n, &violated
	out.Outcome = passOrFail(violated == 0)
	return out
}
