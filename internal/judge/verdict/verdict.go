// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Verdict is the result of judging a record. A nil pointer is "no data", which is
// never 0.
type Verdict struct {
	Outcome     Outcome
	Claim       string // one sentence: what the run showed, or why it showed nothing
	SLOs        []SLO  // in the profile's order, then the implicit ones
	Rules       []Rule // in the order of the table
	Rate        Rate
	Window      Window
	Judged      []record.Span // the judged seconds: the hold windows, truncated where the run was aborted
	WindowOf    []int         // judged window of each of these spans, from 0
	Outcomes    Outcomes
	Latency     map[string]Latency // of the transaction, by TransactionName, and of endpoints
	Generator   Generator
	Ledger      *Ledger // nil: not compared
	Recoveries  []Recovery
	Invariants  []Invariant
	Errors      []Error // nil: no transaction was scheduled
	Pool        *Pool   // nil: the service reports none
	Flows       []Flow  // nil: the profile has one scenario
	Aborted     *Abort  // nil: no abort condition stopped the run
	Limitations []string

	Transactions []Transaction // examples to be looked up, the slowest first; nil: none is known
}

// Flow is the result of one of the profile's flows.
type Flow struct {
	certificate.Flow
	// Outcome is the worst of the flow's SLOs, and of the validity rules as far as they are
	// about the flow.
	Outcome  Outcome
	Judged   []record.Span
	WindowOf []int
}

// SLO is one condition on the system under test and its result.
type SLO struct {
	// SLO is the result as the certificate shows it, with rounded numbers. Its Observed of a
	// percentile has the histogram's resolution of 0.28 %: the outcome rests on the counts. Its
	// bounds are at stats.Alpha on each side, and nil where the samples do not bound it.
	certificate.SLO
	Outcome      Outcome
	PlannedBasis spec.Basis // required for a PASS
	LongEnough   bool       // the window is long enough, given Correlation, for 95 % confidence
	// Seconds are those that broke the condition, where it is about an overload or a recovery;
	// nil: it is about the judged windows, or holds.
	Seconds []record.Span
	// ForeignDoubt is how many possible violations more than certain ones are due to other
	// senders, whose buckets and intervals are coarser.
	ForeignDoubt int64
	// With is the outcome with the samples of other senders, if it is better than that of the
	// workers' alone, which all else is about; nil: theirs count.
	With *Outcome
	// Lumped: other senders report several seconds at once, so that nothing is inferred.
	Lumped bool
	// HiddenByGenerator: the outcome depends on the time that the generator itself
	// added, so that it is not known what the system did.
	HiddenByGenerator bool
	// Doubt is why an SLO that holds by what was measured is undecided: the overload that it
	// judges was not delivered, or cut short. Empty: it is decided, or close to its limit.
	Doubt string
}

// TransactionName is the name of the transaction's latency.
const TransactionName = "transaction"

// Judge computes the verdict on a record. Each flow is judged by itself, on its own windows;
// the run has the worst of their verdicts, and one certificate.
func Judge(r record.Run) Verdict {
	e := gather(r)
	for _, f := range e.flows {
		f.judge()
	}
	e.judge()
	e.checkFlows()
	var flows []Flow
	for _, f := range e.flows {
		flows = append(flows, f.result())
	}
	rules := applyRules(e)
	v := Verdict{
		SLOs:      e.allSLOs(),
		Rules:     rules,
		Flows:     flows,
		Rate:      e.rate(),
		Window:    e.window(),
		Judged:    e.spans,
		WindowOf:  e.windowOf,
		Outcomes:  e.outcomes(),
		Latency:   e.latency(),
		Generator: e.generator(),
		Ledger:    e.ledger(),
		Errors:    e.whole.errors(),
		Pool:      e.pool(),

		Recoveries: e.allRecoveries(),
		Invariants: e.invariants(),
		Aborted:    e.abortion(),

		Transactions: e.whole.transactions(),
	}
	if len(flows) > 0 {
		v.sumFlows()
	}
	v.Outcome = Pass
	for _, s := range v.SLOs {
		v.Outcome = Worse(v.Outcome, s.Outcome)
	}
	for _, rule := range v.Rules {
		v.Outcome = Worse(v.Outcome, rule.Outcome)
	}
	if e.aborted != nil { // the load was not sustained, whether or not an SLO was missed
		v.Outcome = Worse(v.Outcome, Fail)
	}
	if lost(r) {
		v.Outcome = Worse(v.Outcome, LostWrite)
	}
	v.Limitations = limitations(e, v.Rules)
	v.Claim = claim(e, v)
	return v
}
