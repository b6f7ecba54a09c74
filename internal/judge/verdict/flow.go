// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
)

// judge judges the SLOs.
func (e *evidence) judge() {
	e.slos = judgeSLOs(e)
	e.classes = judgeClasses(e)
}

// allSLOs are the SLOs of the flows, and those of the whole run.
func (e *evidence) allSLOs() (all []SLO) {
	for _, f := range e.flows {
		all = append(all, f.slos...)
	}
	return append(all, e.slos...)
}

// allRecoveries are the recoveries of all flows.
func (e *evidence) allRecoveries() (all []Recovery) {
	for _, f := range e.perFlow() {
		all = append(all, f.recovered...)
	}
	return all
}

// result describes a flow.
func (e *evidence) result() Flow {
	f := Flow{Outcome: Pass, Judged: e.spans, WindowOf: e.windowOf, Flow: certificate.Flow{
		Name: e.flow(), Scenario: e.Plan.Profile.Flows[0].Scenario, Rate: e.rate(), Window: e.window(),
		Outcomes: e.outcomes(), Latency: e.latency(), Ledger: e.ledger(),
	}}
	for _, s := range e.slos {
		f.Outcome = Worse(f.Outcome, s.Outcome)
	}
	for _, r := range e.checked {
		f.Outcome = Worse(f.Outcome, r.Outcome)
	}
	if lost(e.Run) {
		f.Outcome = Worse(f.Outcome, LostWrite)
	}
	return f
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

// lost reports whether an acknowledged write was lost.
func lost(r record.Run) bool {
	return r.Ledger != nil && r.Ledger.Missing > 0 && !r.Facts.Ledger.Unfinished
}

// sumFlows makes counts and outcomes those of all flows, each in its own windows, and the
// achieved rate that of the seconds in which any flow is judged. A total is nil if that of
// any flow is: no data is not 0.
func (v *Verdict) sumFlows() {
	v.Outcomes = Outcomes{
		Completed: totalOf(v.Flows, func(f Flow) *int64 { return f.Outcomes.Completed }),
		Failed:    totalOf(v.Flows, func(f Flow) *int64 { return f.Outcomes.Failed }),
		TimedOut:  totalOf(v.Flows, func(f Flow) *int64 { return f.Outcomes.TimedOut }),
		Dropped:   totalOf(v.Flows, func(f Flow) *int64 { return f.Outcomes.Dropped }),
	}
	v.Rate.Scheduled = totalOf(v.Flows, func(f Flow) *int64 { return f.Rate.Scheduled })
	v.Rate.Completed = totalOf(v.Flows, func(f Flow) *int64 { return f.Rate.Completed })
	v.Rate.Dropped = totalOf(v.Flows, func(f Flow) *int64 { return f.Rate.Dropped })
	judged := map[int64]bool{}
	for _, f := range v.Flows {
		for _, span := range f.Judged {
			for second := span.From; second < span.To; second++ {
				judged[second] = true
			}
		}
	}
	if v.Rate.Achieved = nil; v.Rate.Completed != nil && len(judged) > 0 {
		v.Rate.Achieved = pointer(float64(*v.Rate.Completed) / float64(len(judged)))
	}
}

// totalOf adds up a number of each flow; nil as soon as one is.
func totalOf(flows []Flow, part func(Flow) *int64) *int64 {
	sum := int64(0)
	for _, f := range flows {
		n := part(f)
		if n == nil {
			return nil
		}
		sum += *n
	}
	return &sum
}
