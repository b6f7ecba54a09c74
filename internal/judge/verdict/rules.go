package verdict

import "strings"

// Rule is a validity rule and its result.
type Rule struct {
	ID         string // RULEBOOK section 1
	Observed   *float64
	Limit      *float64 // nil: the rule reports a value without a limit
	Unit       string   // of both
	Outcome    Outcome
	Detail     string // finding, for people
	Advice     string // what to do about it
	Limitation string // not empty: the run is judged, and the certificate states this limitation
	// Limitations are the parts of Limitation, if it is of several flows; nil otherwise.
	Limitations []string
}

// rules is RULEBOOK section 1. The claim of an INVALID run names the first broken
// rule, so that causes come before their consequences: whether the run and its record
// are complete, then whether the load was as planned, then whether the data suffice.
//
// Those about each flow have the worst of the flows' outcomes.
var rules = []rule{
	{"worker-lost", workerLost, wholeRun},
	{"complete", complete, wholeRun},
	{"frames", frames, wholeRun},
	{faultsRule, faultsInjected, wholeRun},
	{"open-loop", openLoop, eachFlow},
	{"seeded", seeded, wholeRun},
	{"start-skew", startSkew, wholeRun},
	{"window", windowLength, eachFlow},
	{"warm-up", warmUp, eachFlow},
	{"accounted", accounted, eachFlow},
	{"cpu-throttled", cpuThrottled, wholeRun},
	{"generator-drops", generatorDrops, eachFlow},
	{"offered", offered, eachFlow},
	{"generator-lag", generatorLag, eachFlow},
	{"generator-cpu", generatorCPU, wholeRun},
	{"machine", machine, wholeRun},
	{"clock", clock, wholeRun},
	{"workers-even", workersEven, eachFlow},
	{"receiver", receiver, wholeRun},
	{"steady", steady, eachFlow},
	{"samples", samples, eachFlow},
	{"per-class", perClass, eachFlow},
	{"co-location", coLocation, wholeRun},
	{"collector", collector, wholeRun},
	{dataRule, data, eachFlow},
	{"tool", tool, wholeRun},
	{"attempts", attempts, wholeRun},
}

type rule struct {
	id    string
	check func(*evidence) Rule
	about subject
}

// subject is what a rule is about.
type subject int

const (
	wholeRun subject = iota // the run and its workers as a whole
	eachFlow                // the load of a flow
)

const dataRule = "data"

// checkFlows applies the rules about flows, once to each flow.
func (e *evidence) checkFlows() {
	for _, f := range e.perFlow() {
		f.checked = map[string]Rule{}
		for _, r := range rules {
			switch {
			case r.about != eachFlow:
			case len(e.flows) == 0:
				f.checked[r.id] = r.check(f)
			default:
				f.checked[r.id] = r.checkFlow(f)
			}
		}
	}
}

func applyRules(e *evidence) []Rule {
	all := make([]Rule, 0, len(rules))
	for _, r := range rules {
		if r.id == faultsRule && len(e.Plan.Profile.Faults) == 0 {
			continue
		}
		found := r.apply(e)
		found.ID = r.id
		all = append(all, found)
	}
	return all
}

// apply applies a rule to the run, or combines its results on the flows, and on what the run
// judges besides.
func (r rule) apply(e *evidence) Rule {
	switch {
	case r.about == wholeRun:
		return r.check(e)
	case len(e.flows) == 0:
		return e.checked[r.id]
	}
	var worst Rule
	var details, limitations []string
	add := func(of *evidence, found Rule) {
		text := of.inFlow(found.Detail)
		if found.Limitation != "" {
			limitations = append(limitations, of.inFlow(found.Limitation))
		}
		switch {
		case details == nil || Worse(found.Outcome, worst.Outcome) != worst.Outcome:
			worst, details = found, []string{text}
		case found.Outcome == worst.Outcome:
			if worst.Limitation == "" && found.Limitation != "" {
				worst = found
			}
			details = append(details, text)
		}
	}
	for _, f := range e.flows {
		add(f, f.checked[r.id])
	}
	if r.id == dataRule && len(e.slos) > 0 { // the run judges more than its flows
		add(e, r.checkFlow(e))
	}
	worst.Detail, worst.Limitation, worst.Limitations = joinFirst(details, 3), strings.Join(limitations, "; "), limitations
	return worst
}

// checkFlow applies a rule to a flow, which may have been aborted before it began.
func (r rule) checkFlow(flow *evidence) Rule {
	if flow.noneDue() {
		text := "no transaction was due before the run was aborted"
		return Rule{Outcome: Pass, Detail: text, Limitation: text}
	}
	return r.check(flow)
}

// fewExpected is the mean number of arrivals by a time up to which there may be none: a
// Poisson process with this mean has none once in a million times.
const fewExpected = 14

// noneDue reports whether the run was aborted when none of the transactions may have been due.
func (e *evidence) noneDue() bool {
	return e.aborted != nil && !e.scheduled.found && e.plan.ExpectedBy(e.Facts.Ended.Sub(e.Facts.T0)) < fewExpected
}

// IsGeneratorRule reports whether a rule is about the offered load, not the system under
// test.
func IsGeneratorRule(id string) bool {
	return id == "offered" || id == "cpu-throttled" || strings.HasPrefix(id, "generator-")
}

func passOrInvalid(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Invalid
}
