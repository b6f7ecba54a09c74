package verdict

import (
	"slices"
	"strings"
)

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
// Rules that are perFlow are applied to each flow of a profile, and have the worst of their
// outcomes; the others are about the run and its workers as a whole.
var rules = []rule{
	{"worker-lost", workerLost, false},
	{"complete", complete, false},
	{"frames", frames, false},
	{faultsRule, faultsInjected, false},
	{"open-loop", openLoop, perFlow},
	{"seeded", seeded, false},
	{"start-skew", startSkew, false},
	{"window", windowLength, perFlow},
	{"warm-up", warmUp, perFlow},
	{"accounted", accounted, perFlow},
	{"cpu-throttled", cpuThrottled, false},
	{"generator-drops", generatorDrops, perFlow},
	{"offered", offered, perFlow},
	{"generator-lag", generatorLag, perFlow},
	{"generator-cpu", generatorCPU, false},
	{"machine", machine, false},
	{"clock", clock, false},
	{"workers-even", workersEven, perFlow},
	{"receiver", receiver, false},
	{"steady", steady, perFlow},
	{"samples", samples, perFlow},
	{"per-class", perClass, perFlow},
	{"co-location", coLocation, false},
	{"collector", collector, false},
	{dataRule, data, perFlow},
	{"tool", tool, false},
	{"attempts", attempts, false},
}

type rule struct {
	id      string
	check   func(*evidence) Rule
	perFlow bool
}

const (
	perFlow  = true
	dataRule = "data"
)

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

// apply applies a rule to the run, or to each of its flows, and to what the run judges
// besides.
func (r rule) apply(e *evidence) Rule {
	if !r.perFlow || len(e.flows) == 0 {
		return r.check(e)
	}
	of := e.flows
	if r.id == dataRule && len(e.slos) > 0 { // the run judges more than its flows
		of = append(slices.Clone(of), e)
	}
	var worst Rule
	var details, limitations []string
	for i, f := range of {
		found := r.of(f)
		text := f.inFlow(found.Detail)
		if found.Limitation != "" {
			limitations = append(limitations, f.inFlow(found.Limitation))
		}
		switch {
		case i == 0 || Worse(found.Outcome, worst.Outcome) != worst.Outcome:
			worst, details = found, []string{text}
		case found.Outcome == worst.Outcome:
			if worst.Limitation == "" && found.Limitation != "" {
				worst = found
			}
			details = append(details, text)
		}
	}
	worst.Detail, worst.Limitation, worst.Limitations = joinFirst(details, 3), strings.Join(limitations, "; "), limitations
	return worst
}

// of applies a rule to a flow.
func (r rule) of(flow *evidence) Rule {
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
