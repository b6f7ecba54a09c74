// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/spec"
)

// minThroughput is the share of scheduled transactions that must complete
// (docs/slos.md, Conditions).
const minThroughput = 0.99

// Throughput is an implicit SLO of every profile.
const (
	ThroughputMetric     = "throughput"
	ThroughputExpression = "completed/scheduled>=0.99"
)

// judges says how the SLOs of each kind are judged.
var judges = map[spec.Kind]func(*part, spec.SLO) SLO{
	spec.KindSamples:    judgeSamples,
	spec.KindGauge:      judgeGauge,
	spec.KindLedger:     judgeLedger,
	spec.KindRecovery:   judgeRecovery,
	spec.KindSettling:   judgeRecovery,
	spec.KindGoodput:    judgeGoodput,
	spec.KindInvariants: judgeInvariants,
}

// judgeSLOs judges the SLOs of the profile, then the implicit ones: the throughput of each flow,
// and the abort. The truncated windows of an aborted run cannot show that an SLO holds, or that
// it would have no data. A system that certainly failed, because it left too many transactions
// uncompleted, may have no data for later steps of a transaction, or for the ledger: that is
// part of the failure, which INVALID would hide.
func judgeSLOs(p *part) (all []SLO) {
	for _, s := range p.Plan.Profile.WholeSLOs() {
		all = append(all, judges[s.Kind()](p, s))
	}
	undecided := []Outcome{Pass, Invalid}
	if p.aborted == nil {
		undecided = nil
	}
	if len(p.flows) == 0 {
		throughput := judgeThroughput(p.evidence)
		if p.aborted == nil && throughput.Outcome == Fail && sentNothing(p.evidence) == 0 {
			undecided = []Outcome{Invalid}
		}
		all = append(all, throughput)
	}
	for i := range all {
		if slices.Contains(undecided, all[i].Outcome) {
			all[i].Outcome = Inconclusive
		}
	}
	if abortIsSLO(p.evidence) {
		all = append(all, judgeAbort(p.aborted))
	}
	return all
}

func newSLO(s spec.SLO, unit string) SLO {
	return SLO{Outcome: Invalid, SLO: certificate.SLO{
		Flow: s.Flow, Metric: s.MetricText(), Expression: s.Expression, Unit: unit, Limit: s.Bound, Basis: spec.Counted,
	}}
}

// decideByCount decides a condition on this run alone: PASS needs the most possible
// violations within the limit, FAIL the certain ones over it.
func decideByCount(lo, hi, allowed int64) Outcome {
	switch {
	case hi <= allowed:
		return Pass
	case lo > allowed:
		return Fail
	default:
		return Inconclusive
	}
}

// failed reports whether the system failed an SLO. These are decided without the
// generator's share; an abort is decided during the run, with it, and does not count.
func failed(p *part) bool {
	slos := p.slos
	if abortIsSLO(p.evidence) && len(slos) > 0 {
		slos = slos[:len(slos)-1] // judgeAbort's
	}
	return slices.ContainsFunc(slos, func(s SLO) bool { return s.Outcome == Fail }) ||
		slices.ContainsFunc(p.classes, func(c class) bool { return c.outcome == Fail })
}

// passes reports whether every SLO holds.
func passes(p *part) bool {
	return !slices.ContainsFunc(p.slos, func(s SLO) bool { return s.Outcome == Inconclusive || s.Outcome == Invalid }) && !failed(p)
}

func passOrFail(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Fail
}
