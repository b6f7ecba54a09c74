package verdict

import (
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// minThroughput is the share of scheduled transactions that must complete
// (RULEBOOK section 2c, throughput).
const minThroughput = 0.99

// Throughput is the SLO that every profile has without naming it.
const (
	ThroughputMetric     = "throughput"
	ThroughputExpression = "completed/scheduled>=0.99"
)

func judgeSLOs(e *evidence) []SLO {
	all := make([]SLO, 0, len(e.Plan.Profile.SLOs)+1)
	for _, s := range e.Plan.Profile.SLOs {
		switch {
		case s.OfGauge():
			all = append(all, judgeGauge(e, s))
		case !s.Sampled():
			all = append(all, judgeLedgerSLO(e, s))
		case s.Aggregate == spec.Rate:
			all = append(all, judgeRate(e, s))
		default:
			all = append(all, judgeLatency(e, s))
		}
	}
	throughput := judgeThroughput(e)
	if e.aborted != nil {
		return append(markTruncated(append(all, throughput)), judgeAbort(e))
	}
	if throughput.Outcome == Fail && e.sentAnything() && !e.stoppedEarly() {
		downgradeWithoutData(all)
	}
	return append(all, throughput)
}

// sentAnything tells whether any transaction sent anything to the system. A script that
// throws before its first request shows nothing of it, whatever it sent before
// the judged windows. What a system that never
// answers was sent is known only when its transactions are given up, which may
// be after the window; what setup() sent has no scenario.
func (e *evidence) sentAnything() bool {
	for _, s := range e.Timeline.Series(metric.DataSent) {
		if scenario := s.Label("scenario"); scenario != "" {
			if n, _ := e.Timeline.Sum(metric.DataSent, label("scenario", scenario), e.fromJudged()); n > 0 {
				return true
			}
		}
	}
	if n, _ := e.Timeline.Sum(metric.WorkerSQLSent, nil, e.fromJudged()); n > 0 {
		return true
	}
	return e.tally(metric.RequestFailed+metric.RateTotal, nil).n > 0
}

// downgradeWithoutData makes SLOs without data undecided where the system left so many
// transactions undone that its failure is certain: that the later steps of a
// transaction have no sample, or a ledger no entry, is then a part of the
// failure, and must not hide it behind INVALID.
func downgradeWithoutData(slos []SLO) {
	for i := range slos {
		if slos[i].Outcome == Invalid {
			slos[i].Outcome = Inconclusive
		}
	}
}

func newSLO(s spec.SLO, unit string) SLO {
	return SLO{Metric: s.MetricText(), Expression: s.Expression, Unit: unit, Limit: s.Bound, Basis: spec.Counted, Outcome: Invalid}
}

// byCount decides a condition of the run itself, which is not a sample of
// anything: it needs the most violations possible for PASS and the least for FAIL.
func byCount(lo, hi, allowed int64) Outcome {
	switch {
	case hi <= allowed:
		return Pass
	case lo > allowed:
		return Fail
	default:
		return Inconclusive
	}
}

// failed tells whether the system failed an SLO, which is decided without the
// generator's share. An abort is not: it was decided as the run went.
func (e *evidence) failed() bool {
	slos := e.slos
	if e.aborted != nil && len(slos) > 0 {
		slos = slos[:len(slos)-1] // judgeAbort's
	}
	return anySLO(slos, Fail) || slices.ContainsFunc(e.classes, func(c class) bool { return c.outcome == Fail })
}

// passes tells whether every SLO holds.
func (e *evidence) passes() bool {
	return !anySLO(e.slos, Inconclusive) && !anySLO(e.slos, Invalid) && !e.failed()
}

func anySLO(slos []SLO, o Outcome) bool {
	return slices.ContainsFunc(slos, func(s SLO) bool { return s.Outcome == o })
}

func when(holds bool) Outcome {
	if holds {
		return Pass
	}
	return Fail
}
