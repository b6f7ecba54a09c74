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

// check decides a rule. A rule without an outcome holds; unit and advice are the rulebook's
// where the check names no others.
type check func(*part) Rule

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
	rulebook.Script:         script,
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

// apply applies a rule to a part of the run.
func apply(r rulebook.Rule, p *part) Rule {
	found := checks[r.ID](p)
	found.ID, found.Unit, found.Advice = r.ID, cmp.Or(found.Unit, r.Unit), cmp.Or(found.Advice, r.Advice)
	found.Outcome = cmp.Or(found.Outcome, Pass)
	return found
}

// applyToFlow applies a rule to a flow, which may have been aborted before it began.
func applyToFlow(r rulebook.Rule, flow *part) Rule {
	if noneDue(flow.evidence) {
		text := "no transaction was due before the run was aborted"
		return Rule{Outcome: Pass, Limitation: text, Rule: certificate.Rule{ID: r.ID, Detail: text}}
	}
	return apply(r, flow)
}

// checkFlows applies the rules about flows, once to each flow.
func checkFlows(p *part) {
	to := applyToFlow
	if len(p.flows) == 0 {
		to = apply
	}
	for _, f := range p.perFlow() {
		f.checked = map[string]Rule{}
		for _, r := range rulebook.All() {
			if r.EachFlow {
				f.checked[r.ID] = to(r, f)
			}
		}
	}
}

// checkRun applies the other rules to the run, and combines the results of those about flows.
func checkRun(p *part) (all []Rule) {
	for _, r := range rulebook.All() {
		switch {
		case r.ID == rulebook.Faults && len(p.Plan.Profile.Faults) == 0:
		case !r.EachFlow:
			all = append(all, apply(r, p))
		case len(p.flows) == 0:
			all = append(all, p.checked[r.ID])
		default:
			all = append(all, combine(r, p))
		}
	}
	return all
}

// combine is the worst of a rule's results on the flows, and on what the run judges besides.
func combine(r rulebook.Rule, p *part) (worst Rule) {
	var details, limitations []string
	add := func(of *part, found Rule) {
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
	for _, f := range p.flows {
		add(f, f.checked[r.ID])
	}
	if r.ID == rulebook.Data && len(p.slos) > 0 || r.ID == rulebook.PerClass && len(p.classes) > 0 { // the run judges more than its flows
		add(p, applyToFlow(r, p))
	}
	worst.Detail, worst.Limitation, worst.Limitations = joinFirst(details, 3), strings.Join(limitations, "; "), limitations
	return worst
}

// fewExpected is the mean number of arrivals by a time up to which there may be none: a
// Poisson process with this mean has none once in a million times.
const fewExpected = 14

// noneDue reports whether the run was aborted when none of the transactions may have been due.
func noneDue(e *evidence) bool {
	return e.aborted != nil && !e.scheduled.found && e.plan.ExpectedBy(e.Facts.Ended.Sub(e.Facts.T0)) < fewExpected
}

func passOrInvalid(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Invalid
}
