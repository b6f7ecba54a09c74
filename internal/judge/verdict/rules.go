// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/rulebook"
)

// Rule is a validity rule and its result.
type Rule struct {
	certificate.Rule
	Outcome    Outcome
	Limitation string // not empty: the run is judged, and the certificate states this limitation
	// Limitations are the parts of Limitation, if it is of several flows; nil otherwise.
	Limitations []string
}

// checks are how the rules of the rulebook are decided, by id.
var checks = map[string]check{
	rulebook.WorkerLost:     workerLost,
	rulebook.Complete:       complete,
	rulebook.Frames:         frames,
	rulebook.Faults:         faultsInjected,
	rulebook.OpenLoop:       openLoop,
	rulebook.Seeded:         seeded,
	rulebook.StartSkew:      startSkew,
	rulebook.Window:         windowLength,
	rulebook.WarmUp:         warmUp,
	rulebook.Accounted:      accounted,
	rulebook.CPUThrottled:   cpuThrottled,
	rulebook.GeneratorDrops: generatorDrops,
	rulebook.Offered:        offered,
	rulebook.GeneratorLag:   generatorLag,
	rulebook.GeneratorCPU:   generatorCPU,
	rulebook.Machine:        machine,
	rulebook.Clock:          clock,
	rulebook.WorkersEven:    workersEven,
	rulebook.Receiver:       receiver,
	rulebook.Steady:         steady,
	rulebook.Samples:        samples,
	rulebook.PerClass:       perClass,
	rulebook.CoLocation:     coLocation,
	rulebook.Collector:      collector,
	rulebook.Data:           data,
	rulebook.Tool:           tool,
	rulebook.Attempts:       attempts,
}

// check decides a rule. Unit and advice are the rulebook's where it names no others.
type check func(*evidence) Rule

// rule is an entry of the rulebook, with its check.
type rule struct {
	rulebook.Rule
	decide check
}

// rules are those of the rulebook, in its order. Those about each flow have the worst of the
// flows' outcomes.
func rules() (all []rule) {
	for _, r := range rulebook.All() {
		all = append(all, rule{r, checks[r.ID]})
	}
	return all
}

// check applies a rule.
func (r rule) check(e *evidence) Rule {
	found := r.decide(e)
	found.ID, found.Unit, found.Advice = r.ID, cmp.Or(found.Unit, r.Unit), cmp.Or(found.Advice, r.Advice)
	return found
}

// checkFlows applies the rules about flows, once to each flow.
func (e *evidence) checkFlows() {
	for _, f := range e.perFlow() {
		f.checked = map[string]Rule{}
		for _, r := range rules() {
			switch {
			case !r.EachFlow:
			case len(e.flows) == 0:
				f.checked[r.ID] = r.check(f)
			default:
				f.checked[r.ID] = r.checkFlow(f)
			}
		}
	}
}

func applyRules(e *evidence) []Rule {
	all := make([]Rule, 0, len(checks))
	for _, r := range rules() {
		if r.ID == rulebook.Faults && len(e.Plan.Profile.Faults) == 0 {
			continue
		}
		found := r.apply(e)
		found.ID = r.ID
		all = append(all, found)
	}
	return all
}

// apply applies a rule to the run, or combines its results on the flows, and on what the run
// judges besides.
func (r rule) apply(e *evidence) Rule {
	switch {
	case !r.EachFlow:
		return r.check(e)
	case len(e.flows) == 0:
		return e.checked[r.ID]
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
		add(f, f.checked[r.ID])
	}
	if r.ID == rulebook.Data && len(e.slos) > 0 { // the run judges more than its flows
		add(e, r.checkFlow(e))
	}
	worst.Detail, worst.Limitation, worst.Limitations = joinFirst(details, 3), strings.Join(limitations, "; "), limitations
	return worst
}

// checkFlow applies a rule to a flow, which may have been aborted before it began.
func (r rule) checkFlow(flow *evidence) Rule {
	if flow.noneDue() {
		text := "no transaction was due before the run was aborted"
		return Rule{Outcome: Pass, Limitation: text, Rule: certificate.Rule{Detail: text}}
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

func passOrInvalid(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Invalid
}
