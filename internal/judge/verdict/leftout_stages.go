// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// stageName names a stage of the plan, from 0, like "stage 3 of 5 (cool-down at 50/s)".
func stageName(of plan.Plan, i int) string {
	s := of.Stages[i]
	text := s.Name
	switch {
	case of.Closed:
	case s.From != s.To:
		text += " from " + number(s.From) + " to " + number(s.To) + "/s"
	default:
		text += " at " + number(s.To) + "/s"
	}
	return fmt.Sprintf("stage %d of %d (%s)", i+1, len(of.Stages), text)
}

// unjudgedStages are the stages of the load that no window judges, and what workers did after its
// end. They weigh where they break an SLO. How long a transaction takes does not: before the first
// window, where a system is still cold, on the way to an overload and in it, and while settle_time
// or time_to_scale judge that.
func unjudgedStages(p *part) (all []certificate.Omission) {
	e := p.whole
	for i, s := range e.plan.Stages {
		span := record.SpanOf(e.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
		span.To = min(span.To, loadEnd(e))
		if span.Seconds() <= 0 || e.judges(span.From) || s.Name == plan.Overload && judgesMetric(p, metric.Goodput) {
			continue
		}
		o := e.over(span)
		found := certificate.Omission{
			What: stageName(e.plan, i), Seconds: new(float64(o.seconds)), Transactions: new(o.scheduled.n), Failed: new(o.notCompleted()),
		}
		cold := span.From < sinceFirstWindow(e).From
		over := s.Name == plan.Overload || i+1 < len(e.plan.Stages) && e.plan.Stages[i+1].Name == plan.Overload
		if broken := brokenIn(o, cold || over || p.recovers(span)); broken != "" {
			found.What += ", which breaks " + broken
			found.Weighs = true
		}
		all = append(all, found)
	}
	return append(all, e.afterLoad())
}

// judges reports whether a second is in a judged window.
func (e *evidence) judges(second int64) bool {
	return slices.ContainsFunc(e.spans, func(s record.Span) bool { return s.From <= second && second < s.To })
}

// recovers reports whether settle_time or time_to_scale judge some seconds.
func (p *part) recovers(span record.Span) bool {
	return slices.ContainsFunc(p.recovered, func(r Recovery) bool {
		return r.Metric != metric.RecoveryTime && r.At.Unix() <= span.From && r.Until.Unix() >= span.To
	})
}

// brokenIn names the first SLO on a share of samples that some seconds break (beyondShare); empty:
// none. exceptTimes: on failures only.
func brokenIn(o *evidence, exceptTimes bool) string {
	breaks := func(v violations, q float64) bool {
		total := stats.Sum(v.cleared)
		return beyondShare(total.N, total.K, q)
	}
	if breaks(throughputViolations(o), 1-minThroughput) {
		return ThroughputMetric
	}
	for _, s := range o.Plan.Profile.WholeSLOs() {
		time := s.Aggregate != spec.Rate
		if s.Kind() == spec.KindSamples && s.Aggregate != spec.Max && !(time && exceptTimes) && breaks(violationsOf(o, s), s.AllowedShare()) {
			return s.Name()
		}
	}
	return ""
}

// afterLoad is what arrived after the load that is judged: until the workers stop, where an earlier
// look than the last decides the run.
func (e *evidence) afterLoad() certificate.Omission {
	rest := record.Span{From: e.Facts.T0.Add(e.plan.Duration()).Unix(), To: math.MaxInt64}
	found := certificate.Omission{What: "after the load that is judged", Transactions: new(int64), Failed: new(int64)}
	scheduled, _ := e.Timeline.Sum(metric.TransactionsScheduled, nil, rest)
	*found.Transactions = int64(scheduled)
	for _, outcome := range notCompleted {
		n, _ := e.Timeline.Sum(metric.Transactions, label("outcome", outcome), rest)
		*found.Failed += int64(n)
	}
	return found
}

// inRecoveries are the seconds of judged windows that belong to recoveries.
func inRecoveries(p *part) []certificate.Omission {
	var cut []record.Span
	for _, w := range p.whole.spans {
		for second := w.From; second < w.To; second++ {
			if !p.judges(second) {
				cut = append(cut, record.Span{From: second, To: second + 1})
			}
		}
	}
	if len(cut) == 0 {
		return nil
	}
	var names []string
	for _, name := range []string{metric.RecoveryTime, metric.SettleTime, metric.TimeToScale} {
		if _, ok := p.Plan.Profile.Limit(name); ok {
			names = append(names, name)
		}
	}
	o := p.whole.over(cut...)
	return []certificate.Omission{{
		What:    "recoveries in judged windows, which no SLO on transactions and requests judges but those on " + joinAnd(names),
		Seconds: new(float64(o.seconds)), Transactions: new(o.scheduled.n), Failed: new(o.notCompleted()),
		Weighs: brokenIn(o, false) != "",
	}}
}
