// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
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
var judges = map[spec.Kind]func(*evidence, spec.SLO) SLO{
	spec.KindSamples:    judgeSamples,
	spec.KindGauge:      judgeGauge,
	spec.KindLedger:     judgeLedgerSLO,
	spec.KindRecovery:   judgeRecovery,
	spec.KindSettling:   judgeRecovery,
	spec.KindGoodput:    judgeGoodput,
	spec.KindInvariants: judgeInvariants,
}

func judgeSamples(e *evidence, s spec.SLO) SLO {
	judge := judgeLatency
	if s.Aggregate == spec.Rate {
		judge = judgeRate
	}
	return e.worseAlone(s, judge(e, s), judge)
}

func judgeSLOs(e *evidence) []SLO {
	all := make([]SLO, 0, len(e.Plan.Profile.WholeSLOs())+1)
	for _, s := range e.Plan.Profile.WholeSLOs() {
		all = append(all, judges[s.Kind()](e, s))
	}
	if len(e.flows) > 0 { // the throughput of each is judged
		if e.aborted != nil {
			all = markTruncated(all)
		}
		if e.abortIsSLO() {
			all = append(all, judgeAbort(e))
		}
		return all
	}
	throughput := judgeThroughput(e)
	if e.aborted != nil {
		all = markTruncated(append(all, throughput))
		if e.abortIsSLO() {
			all = append(all, judgeAbort(e))
		}
		return all
	}
	if throughput.Outcome == Fail && e.sentAnything() && !e.stoppedEarly() {
		downgradeWithoutData(all)
	}
	return append(all, throughput)
}

// sentAnything reports whether any transaction sent anything to the system in the
// judged windows or later: a script that throws before its first request shows nothing
// of the system. Data sent to a system that never answers are reported only when the
// transactions time out, which may be after the window. Data sent by setup() have no
// scenario and do not count.
func (e *evidence) sentAnything() bool {
	for _, s := range e.Timeline.Series(metric.DataSent) {
		if scenario := s.Label("scenario"); scenario != "" {
			if n, _ := e.Timeline.Sum(metric.DataSent, label("scenario", scenario), e.sinceFirstWindow()); n > 0 {
				return true
			}
		}
	}
	if n, _ := e.Timeline.Sum(metric.WorkerSQLSent, nil, e.sinceFirstWindow()); n > 0 {
		return true
	}
	return slices.ContainsFunc(metric.Protocols, func(of *metric.Protocol) bool { return e.tally(of.Failed+metric.RateTotal, nil).n > 0 })
}

// downgradeWithoutData makes SLOs without data undecided, for a system that certainly
// failed because it left too many transactions uncompleted. That later steps of a
// transaction have no sample, or the ledger no entry, is then part of that failure,
// which INVALID would hide.
func downgradeWithoutData(slos []SLO) {
	for i := range slos {
		if slos[i].Outcome == Invalid {
			slos[i].Outcome = Inconclusive
		}
	}
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
func (e *evidence) failed() bool {
	slos := e.slos
	if e.abortIsSLO() && len(slos) > 0 {
		slos = slos[:len(slos)-1] // judgeAbort's
	}
	return anySLO(slos, Fail) || slices.ContainsFunc(e.classes, func(c class) bool { return c.outcome == Fail })
}

// passes reports whether every SLO holds.
func (e *evidence) passes() bool {
	return !anySLO(e.slos, Inconclusive) && !anySLO(e.slos, Invalid) && !e.failed()
}

func anySLO(slos []SLO, o Outcome) bool {
	return slices.ContainsFunc(slos, func(s SLO) bool { return s.Outcome == o })
}

func passOrFail(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Fail
}
