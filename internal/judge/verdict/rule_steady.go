// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// backlogDeviations is by how many standard deviations the number of open transactions must
// have grown (ours). With Poisson arrivals the number that are open at one instant has the
// variance of its mean. The trend's interval alone does not exclude chance where a window has
// few batches: of windows of 10 s at 10/s, with a latency of 0.5 s that never changes, it
// failed 0.28 %.
const backlogDeviations = 4

// minSteady is the shortest window, in seconds, that must be steady. Shorter steps of
// an event's shape may be transient throughout.
const minSteady = stats.Batches * stats.MinBatch

// steady: latency does not drift within a judged window, and completions keep up with
// the schedule. A backlog that grows while the generator keeps up is the system's
// failure. Latency that grows makes only a PASS invalid, and only where the same
// growth over another window of this length would break an SLO: a drift from 2 to 3 ms
// does not matter to a bound of 400 ms. Nor does growth while steal time or throttling
// grew too, which may be the cause. Latency that falls does not affect a PASS. All
// drifts are reported.
func steady(p *part) Rule {
	r := Rule{Rule: certificate.Rule{
		Limit:  new(rulebook.MaxDrift),
		Detail: fmt.Sprintf("windows under %d s are too short to detect a latency drift", minSteady),
	}}
	for _, span := range p.spans {
		if behind, grew := backlogGrowth(p.evidence, span); grew {
			return fellBehind(p, behind)
		}
	}
	long := slices.DeleteFunc(underConstantLoad(p), func(span record.Span) bool { return span.Seconds() < minSteady })
	if len(long) == 0 {
		r.Limitation = r.Detail
		return r
	}
	var drift, other *trend // the largest that is certain, and the largest of the others
	for _, span := range long {
		for _, t := range trends(p.evidence, span) {
			if !t.drifts() {
				other = larger(other, t)
				continue
			}
			t.lostCPU = t.Change > 0 && cpuLossGrew(p.evidence, span)
			if t.Change > 0 && !t.lostCPU && passes(p) {
				if breaks := wouldViolate(p.evidence, span, t.Change); breaks != "" {
					r.Observed, r.Outcome, r.Detail = &t.Change, Invalid, t.String()+"; the same drift again would break "+breaks
					return r
				}
			}
			drift = larger(drift, t)
		}
	}
	certain := false // it is certain that latency did not drift, or not by much
	switch {
	case drift != nil:
		r.Observed, r.Detail = &drift.Change, drift.String()
	case other == nil:
		r.Detail = "latency varies too much to detect a drift"
	case math.Abs(other.Change) > rulebook.MaxDrift:
		r.Observed = &other.Change
		r.Detail = fmt.Sprintf("latency may have drifted by %s over a window: not distinguishable from chance", signed(other.Change))
	default:
		r.Observed, certain = &other.Change, true
		r.Detail = fmt.Sprintf("latency drifted by at most %s over a window", signed(other.Change))
	}
	if !certain {
		r.Limitation = r.Detail
	}
	return r
}

// underConstantLoad are the parts of the judged windows in which the rate of all flows
// together does not change: the load of another flow that rises is no drift.
func underConstantLoad(p *part) (all []record.Span) {
	if p.flow() == "" {
		return slices.Clone(p.spans)
	}
	for _, span := range p.spans {
		before := -1.0 // rate at the end of the stage before, if it was constant
		for _, s := range p.total.Stages {
			part := record.SpanOf(p.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
			part.From, part.To = max(part.From, span.From), min(part.To, span.To)
			switch {
			case part.Seconds() <= 0:
			case s.From != s.To:
				before = -1
			case s.From == before:
				all[len(all)-1].To = part.To
			default:
				all, before = append(all, part), s.From
			}
		}
	}
	return all
}

// larger is t, or the largest trend so far (nil: none) if that is at least as large.
func larger(largest *trend, t trend) *trend {
	if largest != nil && math.Abs(largest.Change) >= math.Abs(t.Change) {
		return largest
	}
	return &t
}

// fellBehind is the result where completions fell behind the schedule. Arrivals that the
// generator loses or displaces add to the backlog too.
func fellBehind(p *part, behind float64) Rule {
	r := Rule{Outcome: Fail, Rule: certificate.Rule{
		Observed: &behind,
		Limit:    new(rulebook.MaxBehind),
		Unit:     "share of arrivals",
		Detail:   fmt.Sprintf("completions fell behind the schedule: %s of the window's arrivals were added to the backlog", percent(behind)),
		Advice:   "Find out what the system waits for: it does not keep up with the arrivals.",
	}}
	lost := ratio(generatorDropped(p.evidence), p.scheduled)
	if keptUp := !displaced(p.evidence) && lost != nil && *lost <= *p.limits.GeneratorDrops; keptUp {
		return r
	}
	r.Outcome = Invalid
	r.Advice = "Fix the generator first: the transactions that it delays add to the backlog too."
	if failed(p) {
		r.Outcome, r.Limitation = Pass, r.Detail+", some of them by the generator"
	}
	return r
}

// wouldViolate names the first condition on latency that the last third of a window
// would break if every latency in it grew by the share growth; empty: none. The
// conditions are the SLOs, and that the share of transactions required by the
// throughput SLO ends within the timeout.
func wouldViolate(e *evidence, span record.Span, growth float64) string {
	timeout := float64(e.plan.Timeout.Milliseconds())
	inTime := spec.SLO{
		Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(%g)<%s, the timeout", 100*minThroughput, number(timeout)),
		Aggregate: spec.Percentile, Quantile: minThroughput, Bound: timeout,
	}
	last := record.Span{From: span.To - max(1, span.Seconds()/3), To: span.To}
	for _, s := range append(slices.Clone(e.Plan.Profile.WholeSLOs()), inTime) {
		if s.Aggregate != spec.Percentile && s.Aggregate != spec.Max || unitOf(e, s) != "ms" {
			continue
		}
		h := e.Timeline.Hist(s.Metric, s.Selector, last)
		if _, most := h.AtLeast(s.LeastViolating() / (1 + growth)); int64(most) > allowedViolations(s, int64(h.Count())) {
			return s.MetricText() + " " + s.Expression
		}
	}
	return ""
}

// cpuLossGrew reports whether steal time or throttling was higher in the last third of
// a window than in its first, by more than the limit of the rule machine.
func cpuLossGrew(e *evidence, span record.Span) bool {
	loss := func(part record.Span) float64 {
		partial := *e
		partial.spans, partial.seconds = []record.Span{part}, part.Seconds()
		if largest := largestShare(append(throttledSystem(&partial), largestSteal(&partial))); largest != nil {
			return *largest
		}
		return 0
	}
	third := max(1, span.Seconds()/3)
	first, last := record.Span{From: span.From, To: span.From + third}, record.Span{From: span.To - third, To: span.To}
	return loss(last)-loss(first) > *e.limits.Machine
}

func signed(share float64) string {
	if share > 0 {
		return "+" + percent(share)
	}
	return percent(share)
}

// trend is a change over a window as a share of the window's mean.
type trend struct {
	name    string // "median", "mean"
	lostCPU bool   // steal time or throttling grew too
	stats.Trend
}

func (t trend) String() string {
	text := fmt.Sprintf("the %s latency drifted by %s of its average over the window (%s to %s)", t.name, signed(t.Change), signed(t.Lower), signed(t.Upper))
	if t.lostCPU {
		text += ", while steal time or CPU throttling grew"
	}
	return text
}

// drifts reports whether the whole interval of the trend is beyond rulebook.MaxDrift.
func (t trend) drifts() bool { return t.Lower > rulebook.MaxDrift || t.Upper < -rulebook.MaxDrift }

// trends are those of the median and the mean latency of the transaction over batches
// of the window; none where a batch has no data.
func trends(e *evidence, span record.Span) []trend {
	var medians, means []float64
	for _, b := range batches(span) {
		h := e.Timeline.Hist(metric.TransactionDuration, nil, b)
		median, ok := h.Quantile(0.5)
		mean, _ := h.Mean()
		if !ok {
			return nil
		}
		medians, means = append(medians, median), append(means, mean)
	}
	return append(relativeTrends("median", medians), relativeTrends("mean", means)...)
}

// batches splits a window into stats.Batches of nearly equal length, or into fewer of
// at least stats.MinBatch seconds.
func batches(window record.Span) (all []record.Span) {
	seconds := window.Seconds()
	n := max(1, min(stats.Batches, seconds/stats.MinBatch))
	for j := range n {
		all = append(all, record.Span{From: window.From + j*seconds/n, To: window.From + (j+1)*seconds/n})
	}
	return all
}

// relativeTrends are the changes of a series by a fitted line and between its first
// and last third, as shares of its mean.
func relativeTrends(name string, values []float64) (all []trend) {
	mean := sum(values) / float64(len(values))
	if mean <= 0 {
		return nil
	}
	for _, fit := range []func([]float64) (stats.Trend, bool){stats.TrendOf, stats.ShiftOf} {
		if t, ok := fit(values); ok {
			all = append(all, trend{name: name, Trend: stats.Trend{Change: t.Change / mean, Lower: t.Lower / mean, Upper: t.Upper / mean}})
		}
	}
	return all
}

// backlogGrowth is the growth of the number of open transactions over the window, as a
// share of its arrivals, and whether it grew by more than rulebook.MaxBehind and than chance.
func backlogGrowth(e *evidence, span record.Span) (behind float64, grew bool) {
	open := openAt(e, span)
	var levels []float64
	for _, b := range batches(span) {
		levels = append(levels, sum(open[b.From-span.From:b.To-span.From])/float64(b.Seconds()))
	}
	scheduled, _ := e.Timeline.Sum(metric.TransactionsScheduled, nil, span)
	return growth(levels, scheduled)
}

// growth is that of the number of open transactions over a window with these arrivals, as
// backlogGrowth returns it, from the number's mean in each batch.
func growth(levels []float64, scheduled float64) (behind float64, grew bool) {
	t, ok := stats.TrendOf(levels)
	if !ok || scheduled == 0 {
		return 0, false
	}
	chance := backlogDeviations * math.Sqrt(sum(levels)/float64(len(levels)))
	return t.Change / scheduled, t.Lower/scheduled > rulebook.MaxBehind && t.Change > chance
}

// openAt is the number of transactions that were due and had not ended at the end of
// each second of the span, from their latencies. Those due in a second are assumed to
// be evenly spread within it: one that was due a fraction x before the end of its
// second is open j seconds after that if it took longer than j + x seconds. The mean
// over x is taken at four points.
func openAt(e *evidence, span record.Span) []float64 {
	open := make([]float64, span.Seconds())
	reach := int64(math.Ceil((e.plan.Timeout + time.Second).Seconds()))
	h := &metric.Hist{}
	for second := span.From - reach; second < span.To; second++ {
		h.Reset()
		e.Timeline.MergeHist(h, metric.TransactionDuration, nil, record.Span{From: second, To: second + 1})
		longest, _ := h.Max()
		for end := max(second, span.From); end < span.To && float64(end-second)*1000 < longest; end++ {
			for _, part := range []float64{0.125, 0.375, 0.625, 0.875} {
				least, most := h.AtLeast((float64(end-second) + part) * 1000)
				open[end-span.From] += float64(least+most) / 2 / 4
			}
		}
	}
	return open
}
