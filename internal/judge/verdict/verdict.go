// SPDX-License-Identifier: Apache-2.0

package verdict

import (
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
	Latency     []Latency // the transaction first, then endpoints by name
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
	Name     string
	Scenario string // path of its script
	// Outcome is the worst of the flow's SLOs, and of the validity rules as far as they are
	// about the flow.
	Outcome    Outcome
	Rate       Rate
	Window     Window
	Judged     []record.Span
	WindowOf   []int
	Outcomes   Outcomes
	Latency    []Latency // the transaction first, then endpoints by name
	Ledger     *Ledger   // nil: not compared
	Recoveries []Recovery
}

// SLO is one condition on the system under test and its result.
type SLO struct {
	Flow       string // that it is on; empty: on the whole run
	Metric     string // with its selector, as thresholds.json writes it
	Expression string
	Unit       string // of Observed and Limit: "ms", "share" or "count"
	Limit      float64
	Observed   *float64 // percentiles to the histogram's resolution of 0.28 %; the outcome rests on the counts
	// ObservedAtLeast and ObservedAtMost are between which values the true one lies, where
	// coarse buckets of other senders do not tell it; Observed is the middle. ObservedAtMost
	// is nil too where there is no such bound.
	ObservedAtLeast, ObservedAtMost *float64
	Lower                           *float64 // interval of Observed, each side at stats.Alpha; nil where the samples do not bound it
	Upper                           *float64
	// PlannedBasis is the basis required for a PASS. Basis is that of the outcome: this
	// run alone, or the test at 95 % confidence.
	PlannedBasis spec.Basis
	Basis        spec.Basis
	Samples      *int64
	Violations   *int64 // exact; nil where only AtLeast and AtMost are known
	AtLeast      *int64 // certain violations, where there is no exact counter
	AtMost       *int64 // possible violations
	Allowed      *int64 // most violations with which these samples keep the bound
	// Cleared is the number of certain violations without the time that the generator
	// itself added; nil for conditions that are not decided by samples.
	Cleared *int64

	// Of conditions that the inferred test may decide; nil for the others.
	DesignEffect *float64 // nil also where there are too few seconds to estimate it; Effective is 0 then
	Effective    *float64 // effective samples: Samples / DesignEffect
	Needed       *float64 // effective samples needed for PASS
	Correlation  *float64 // s, correlation time of neighbouring samples
	LongEnough   bool     // the window is long enough, given Correlation, for 95 % confidence

	// FailedWindow is the judged window, from 1, that breaks the condition: the only one with
	// more violations than it allows, or the first that breaks it by itself where all windows
	// together do not; nil if none does, or several together.
	FailedWindow *int
	// CloseWindow is the first judged window, from 1, with more violations than it
	// allows but not enough to break the condition; nil if there is none.
	CloseWindow *int
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

	Outcome Outcome
}

// Latency describes a distribution in milliseconds.
type Latency struct {
	Name  string // TransactionName, or the endpoint's name
	Count int64
	Percentiles
	Lower, Upper Percentiles // of the interval of each, each side at stats.Alpha
	// AtLeast and AtMost are between which values a percentile or the maximum lies, where
	// coarse buckets of other senders do not tell it; nil for the others, and where there is
	// no upper value.
	AtLeast, AtMost Ends
	Max, Mean       *float64
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
