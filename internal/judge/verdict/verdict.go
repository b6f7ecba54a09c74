// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"slices"

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
	Latency     map[string]Latency // latency of the transaction, by TransactionName, and of endpoints
	Generator   Generator
	Ledger      *Ledger // nil: not compared
	Recoveries  []Recovery
	Invariants  []Invariant
	Errors      []Error             // nil: no transaction was scheduled
	Checks      []certificate.Check // of the script, those that failed most often first
	Pool        *Pool               // nil: the service reports none
	Flows       []Flow              // nil: the profile has one scenario
	Aborted     *Abort              // nil: no abort condition stopped the run
	Limitations []string
	LeftOut     []certificate.Omission // what did not enter a verdict on an SLO

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
	p := gather(r, r.Plan.Load)
	for _, part := range append(slices.Clone(p.flows), p) {
		part.slos, part.classes = judgeSLOs(part), judgeClasses(part.evidence)
	}
	checkFlows(p)
	v := Verdict{
		Rate: describeRate(p.evidence), Window: describeWindow(p.evidence), Judged: p.spans, WindowOf: p.windowOf,
		Outcomes: describeOutcomes(p.evidence), Latency: describeLatency(p.evidence), Ledger: describeLedger(p.evidence),
		Generator: describeGenerator(p.evidence), Pool: describePool(p.evidence), Errors: describeErrors(p.whole), Checks: describeChecks(p),
		Invariants: describeInvariants(p.evidence), Aborted: describeAbort(p.evidence), Transactions: describeTransactions(p.whole),
		Rules: checkRun(p),
	}
	for _, f := range p.flows {
		v.Flows = append(v.Flows, describeFlow(f))
		v.SLOs = append(v.SLOs, f.slos...)
	}
	v.SLOs = append(v.SLOs, p.slos...)
	for _, f := range p.perFlow() {
		v.Recoveries = append(v.Recoveries, f.recovered...)
	}
	if len(v.Flows) > 0 {
		v.sumFlows()
	}
	v.Outcome = worst(r, v.SLOs, v.Rules)
	if p.aborted != nil { // the load was not sustained, whether or not an SLO was missed
		v.Outcome = Worse(v.Outcome, Fail)
	}
	v.LeftOut = leftOut(p)
	var weighing []string
	if v.Outcome == Pass || v.Outcome == Inconclusive { // another verdict would be worse
		weighing = weighingOf(v.LeftOut)
	}
	v.Limitations = limitations(p, v.Rules, weighing)
	v.Claim = claim(p, v, weighing)
	return v
}

// worst is the outcome of a run, or of a flow, with these SLOs and rules.
func worst(r record.Run, slos []SLO, rules []Rule) Outcome {
	all := Pass
	for _, s := range slos {
		all = Worse(all, s.Outcome)
	}
	for _, rule := range rules {
		all = Worse(all, rule.Outcome)
	}
	if lostWrites(r) > 0 && !r.Facts.Ledger.Unfinished { // an acknowledged write was lost
		all = Worse(all, LostWrite)
	}
	return all
}

// describeFlow describes a flow.
func describeFlow(p *part) Flow {
	return Flow{
		Outcome: worst(p.Run, p.slos, slices.Collect(maps.Values(p.checked))), Judged: p.spans, WindowOf: p.windowOf,
		Flow: certificate.Flow{
			Name: p.flow(), Scenario: p.Plan.Profile.Flows[0].Scenario, Rate: describeRate(p.evidence), Window: describeWindow(p.evidence),
			Outcomes: describeOutcomes(p.evidence), Latency: describeLatency(p.evidence), Ledger: describeLedger(p.evidence),
		},
	}
}

// FlowWithMost is the index of the flow with the most SLOs that are so, the first of these;
// -1: no flow has any.
func (v Verdict) FlowWithMost(is func(SLO) bool) int {
	worst, most := -1, 0
	for i, f := range v.Flows {
		n := 0
		for _, s := range v.SLOs {
			if s.Flow == f.Name && is(s) {
				n++
			}
		}
		if n > most {
			worst, most = i, n
		}
	}
	return worst
}

// sumFlows makes counts and outcomes those of all flows, each in its own windows, and the
// achieved rate that of the seconds in which any flow is judged. A total is nil if that of
// any flow is: no data is not 0.
func (v *Verdict) sumFlows() {
	total := func(of func(Flow) *int64) *int64 {
		sum := int64(0)
		for _, f := range v.Flows {
			n := of(f)
			if n == nil {
				return nil
			}
			sum += *n
		}
		return &sum
	}
	v.Outcomes = Outcomes{
		Completed: total(func(f Flow) *int64 { return f.Outcomes.Completed }),
		Failed:    total(func(f Flow) *int64 { return f.Outcomes.Failed }),
		TimedOut:  total(func(f Flow) *int64 { return f.Outcomes.TimedOut }),
		Dropped:   total(func(f Flow) *int64 { return f.Outcomes.Dropped }),
	}
	v.Rate.Scheduled = total(func(f Flow) *int64 { return f.Rate.Scheduled })
	v.Rate.Completed, v.Rate.Dropped = v.Outcomes.Completed, v.Outcomes.Dropped
	judged := map[int64]bool{}
	for _, f := range v.Flows {
		for _, span := range f.Judged {
			for second := span.From; second < span.To; second++ {
				judged[second] = true
			}
		}
	}
	if v.Rate.Achieved = nil; v.Rate.Completed != nil && len(judged) > 0 {
		v.Rate.Achieved = new(float64(*v.Rate.Completed) / float64(len(judged)))
	}
}

// Undecided names the sampled SLOs that are undecided at a look during the hold, each
// with the reason; none where one has failed. Only these can gain from a longer hold:
// the ledger, for one, is read back after the run.
func Undecided(r record.Run) (names []string) {
	asked := r.Plan.Profile.WholeSLOs()
	for i, s := range judgeSLOs(gather(r, r.Plan.Load)) {
		sampled := i >= len(asked) || asked[i].Kind() == spec.KindSamples && asked[i].Aggregate != spec.Max
		switch {
		case s.Outcome == Fail:
			return nil
		case sampled && s.Outcome == Inconclusive:
			names = append(names, s.Name()+" "+s.undecidedReason())
		}
	}
	return names
}
