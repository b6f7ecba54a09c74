// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// judgeLedgerSLO decides by the ledger of the whole run: a transaction acknowledged
// outside the judged windows must be persisted too.
func judgeLedgerSLO(e *evidence, s spec.SLO) SLO {
	if s.Metric == metric.PersistLag {
		return judgePersistLag(e, s)
	}
	out := newSLO(s, "count")
	l := e.Ledger
	if l == nil || l.Acknowledged == 0 {
		return out // a script that acknowledges nothing shows nothing
	}
	count, samples := l.Missing, l.Acknowledged
	if s.Count == "duplicated" {
		count, samples = l.Duplicated, l.Persisted
	}
	value := float64(count)
	out.Observed, out.Samples, out.Violations = &value, &samples, &count
	out.Outcome = ledgerOutcome(e, value == s.Bound)
	if s.Count == "missing" && out.Outcome == Fail && e.Facts.Ledger.Unfinished {
		out.Outcome = Inconclusive // they may only be late, which persist_lag judges
	}
	return out
}

// judgePersistLag counts a missing transaction as a violation: its lag is infinite.
func judgePersistLag(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "ms")
	if e.Ledger == nil {
		return out
	}
	n := e.Ledger.Matched() + e.Ledger.Missing
	if n == 0 {
		return out
	}
	q := 1.0
	if s.Aggregate == spec.Percentile {
		q = s.Quantile
	}
	if lag, ok := e.Ledger.Lag(q); ok {
		out.Observed = &lag
	}
	broken := e.Ledger.Missing
	for millis, identities := range e.Ledger.Lags {
		if s.Violates(float64(millis)) {
			broken += identities
		}
	}
	allowed := allowedViolations(s, n)
	out.Samples, out.Violations, out.Allowed = &n, &broken, &allowed
	out.Outcome = ledgerOutcome(e, broken <= allowed)
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
