package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// maxDrift is how far latency may drift over a judged window, as a share of its
// mean (RULEBOOK section 1, steady).
const maxDrift = 0.1

// maxBehind is by how much completions may fall behind the schedule over a
// window, as a share of its arrivals: the rest of minThroughput.
const maxBehind = 1 - minThroughput

// leastSteady is the shortest window in seconds that must be steady: a step of
// an event's shape settles while it lasts.
const leastSteady = stats.Batches * leastBatch

// steady: latency does not drift within a judged window, and completions keep
// up with the schedule. A backlog that grows while the generator is well is the
// system's failure. Any other growth guards PASS alone, for what fails and gets
// worse has failed, and only where a window as long as this one that went on
// growing would break an SLO: 2 ms that become 3 say nothing of a bound of 400. Where
// the hypervisor or a quota took more from a host towards the window's end, the
// growth may be theirs. Latency that falls takes nothing from a PASS. All are told.
func steady(e *evidence) Rule {
	r := Rule{
		Limit: pointer(maxDrift), Unit: "share",
		Outcome: Pass,
		Detail:  fmt.Sprintf("windows under %d s are too short to tell a drift of latency", leastSteady),
		Advice:  "Find what changes during the window (caches that fill, tables that grow, other load); lengthen the warm-up or the hold.",
	}
	for _, span := range e.spans {
		if behind, grew := e.backlog(span); grew {
			return e.fellBehind(r, behind)
		}
	}
	judged, told := false, (*trend)(nil)
	for _, span := range e.spans {
		if span.Seconds() < leastSteady {
			continue
		}
		judged = true
		for _, t := range e.trends(span) {
			switch {
			case !t.drifts():
				if told == nil && (r.Observed == nil || math.Abs(t.Change) > math.Abs(*r.Observed)) {
					r.Observed = pointer(t.Change)
				}
				continue
			case t.Change > 0 && e.passes() && !e.cpuLossGrew(span):
				if breaks := e.wouldBreak(span, t.Change); breaks != "" {
					r.Observed, r.Outcome, r.Detail = pointer(t.Change), Invalid, t.String()+"; as much again would break "+breaks
					return r
				}
			}
			if told == nil || math.Abs(t.Change) > math.Abs(told.Change) {
				told, r.Observed, r.Detail = &t, pointer(t.Change), t.String()
				if t.Change > 0 && e.cpuLossGrew(span) {
					r.Detail += ", towards whose end others took more of a host's CPU time"
				}
			}
		}
	}
	switch {
	case told != nil:
		r.Limitation = r.Detail
	case r.Observed == nil && judged:
		r.Detail = "latency scatters so much that no drift can be told"
		r.Limitation = r.Detail
	case r.Observed == nil:
		r.Limitation = r.Detail
	case math.Abs(*r.Observed) > maxDrift:
		r.Detail = fmt.Sprintf("latency may have drifted by %s over a window: not told from chance", signed(*r.Observed))
		r.Limitation = r.Detail
	default:
		r.Detail = fmt.Sprintf("latency drifted by at most %s over a window", signed(*r.Observed))
	}
	return r
}

// fellBehind is the rule where completions fell behind the schedule.
func (e *evidence) fellBehind(r Rule, behind float64) Rule {
	r.Observed, r.Limit, r.Unit = &behind, pointer(maxBehind), "share of arrivals"
	r.Outcome = Fail
	r.Detail = fmt.Sprintf("completions fell behind the schedule: %s of the window's arrivals were added to the backlog", percent(behind))
	r.Advice = "See to what the system waits for: it does not do the work that arrives."
	if !e.generatorIsWell() {
		r.Outcome = Invalid
		r.Advice = "Mend the generator first: what it delays piles up too."
		if e.failed() {
			r.Outcome, r.Limitation = Pass, r.Detail+", some of it by the generator"
		}
	}
	return r
}

// wouldBreak names the first condition on latency that the last third of a window
// would break if every latency in it grew by a share of itself; empty: none. That
// transactions end within their time-out is one, of the share that the throughput
// asks for.
func (e *evidence) wouldBreak(span record.Span, growth float64) string {
	timeout := float64(e.plan.Timeout.Milliseconds())
	ended := spec.SLO{
		Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(%g)<%s, the time-out", 100*minThroughput, number(timeout)),
		Aggregate: spec.Percentile, Quantile: minThroughput, Bound: timeout,
	}
	last := record.Span{From: span.To - max(1, span.Seconds()/3), To: span.To}
	for _, s := range append(slices.Clone(e.Plan.Profile.SLOs), ended) {
		if s.Aggregate != spec.Percentile && s.Aggregate != spec.Max || unitOf(e, s) != "ms" {
			continue
		}
		h := e.Timeline.Hist(s.Metric, s.Selector, last)
		if _, most := h.AtLeast(leastViolating(s) / (1 + growth)); int64(most) > mayViolate(s, int64(h.Count())) {
			return s.MetricText() + " " + s.Expression
		}
	}
	return ""
}

// cpuLossGrew tells whether others took more of a host's CPU time in the last third
// of a window than in its first, by more than the limit of the rule machine.
func (e *evidence) cpuLossGrew(span record.Span) bool {
	taken := func(part record.Span) (most float64) {
		of := *e
		of.spans, of.seconds = []record.Span{part}, part.Seconds()
		for _, one := range append(of.throttled(), of.stolen()) {
			if one.share != nil {
				most = max(most, *one.share)
			}
		}
		return most
	}
	third := max(1, span.Seconds()/3)
	first, last := record.Span{From: span.From, To: span.From + third}, record.Span{From: span.To - third, To: span.To}
	return taken(last)-taken(first) > *e.limits.Machine
}

func signed(share float64) string {
	if share > 0 {
		return "+" + percent(share)
	}
	return percent(share)
}

// trend is a change over a window as a share of the window's mean.
type trend struct {
	of string // "median", "mean"
	stats.Trend
}

func (t trend) String() string {
	return fmt.Sprintf("the %s latency drifted by %s over the window (%s to %s)", t.of, signed(t.Change), signed(t.Lower), signed(t.Upper))
}

// drifts tells whether the trend is surely more than maxDrift.
func (t trend) drifts() bool { return t.Lower > maxDrift || t.Upper < -maxDrift }

// trends are those of the medians and means of the transaction's latency over
// batches of the window, as far as they can be told.
func (e *evidence) trends(span record.Span) []trend {
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
	return append(relative("median", medians), relative("mean", means)...)
}

// leastBatch is the least length of a batch in seconds.
const leastBatch = 2

// batches cuts a window into stats.Batches of nearly equal length, or as many of
// leastBatch as it has.
func batches(window record.Span) (all []record.Span) {
	seconds := window.Seconds()
	n := max(1, min(stats.Batches, seconds/leastBatch))
	for j := range n {
		all = append(all, record.Span{From: window.From + j*seconds/n, To: window.From + (j+1)*seconds/n})
	}
	return all
}

// relative gives the change of a series as a line and as a shift, as shares of
// its mean.
func relative(of string, values []float64) (all []trend) {
	mean := sum(values) / float64(len(values))
	if mean <= 0 {
		return nil
	}
	for _, fit := range []func([]float64) (stats.Trend, bool){stats.TrendOf, stats.ShiftOf} {
		if t, ok := fit(values); ok {
			all = append(all, trend{of, stats.Trend{Change: t.Change / mean, Lower: t.Lower / mean, Upper: t.Upper / mean}})
		}
	}
	return all
}

// backlog is by how much the transactions that were due and not over grew from
// the window's first batch to its last, as a share of its arrivals; and whether
// that is surely more than maxBehind.
func (e *evidence) backlog(span record.Span) (behind float64, grew bool) {
	open := e.openAt(span)
	var levels []float64
	for _, b := range batches(span) {
		levels = append(levels, sum(open[b.From-span.From:b.To-span.From])/float64(b.Seconds()))
	}
	scheduled, _ := e.Timeline.Sum(metric.TransactionsScheduled, nil, span)
	t, ok := stats.TrendOf(levels)
	if !ok || scheduled == 0 {
		return 0, false
	}
	return t.Change / scheduled, t.Lower/scheduled > maxBehind
}

// openAt is how many transactions were due and not over at the end of each
// second of the span, as the latencies tell. Of those due in a second, evenly
// within it, the ones open j seconds after its end took longer than j seconds
// and a part of one: the mean over parts is taken at four.
func (e *evidence) openAt(span record.Span) []float64 {
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

// generatorIsWell tells whether the load came as planned: what the generator
// loses or displaces piles up too.
func (e *evidence) generatorIsWell() bool {
	lost := ratio(e.tally(metric.GeneratorDropped, nil).withCompanion(e.scheduled), e.scheduled)
	return !e.displaced() && lost != nil && *lost <= *e.limits.GeneratorDrops
}
