package verdict

import "assay/harness/observe/record"

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
	f := Flow{
		Name: e.flow(), Scenario: e.Plan.Profile.Scenario, Rate: e.rate(), Window: e.window(), Judged: e.spans, WindowOf: e.windowOf,
		Outcomes: e.outcomes(), Latency: e.latency(), Ledger: e.ledger(), Recoveries: e.recovered, Outcome: Pass,
	}
	for _, s := range e.slos {
		f.Outcome = Worse(f.Outcome, s.Outcome)
	}
	for _, r := range rules {
		if r.perFlow {
			f.Outcome = Worse(f.Outcome, r.of(e).Outcome)
		}
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

// sumFlows makes rate and outcomes those of all flows, each in its own windows.
func (v *Verdict) sumFlows() {
	add := func(to **int64, n *int64) {
		switch {
		case n == nil:
		case *to == nil:
			*to = pointer(*n)
		default:
			*to = pointer(**to + *n)
		}
	}
	v.Outcomes, v.Rate.Scheduled, v.Rate.Completed, v.Rate.Dropped, v.Rate.Achieved, v.Rate.Lowest = Outcomes{}, nil, nil, nil, nil, 0
	for _, f := range v.Flows {
		add(&v.Outcomes.Completed, f.Outcomes.Completed)
		add(&v.Outcomes.Failed, f.Outcomes.Failed)
		add(&v.Outcomes.TimedOut, f.Outcomes.TimedOut)
		add(&v.Outcomes.Dropped, f.Outcomes.Dropped)
		add(&v.Rate.Scheduled, f.Rate.Scheduled)
		add(&v.Rate.Completed, f.Rate.Completed)
		add(&v.Rate.Dropped, f.Rate.Dropped)
		if f.Rate.Achieved != nil {
			v.Rate.Achieved = pointer(valueOr(v.Rate.Achieved, 0) + *f.Rate.Achieved)
		}
		v.Rate.Lowest += f.Rate.Lowest
	}
}

func valueOr(v *float64, other float64) float64 {
	if v == nil {
		return other
	}
	return *v
}
