package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
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
// system's failure; any other drift leaves open what a longer run would show.
func steady(e *evidence) Rule {
	r := Rule{
		Limit: pointer(maxDrift), Unit: "share",
		Outcome: Pass,
		Detail:  fmt.Sprintf("windows under %d s are too short to tell a drift of latency", leastSteady),
		Advice:  "Find what changes during the window (caches that fill, tables that grow, other load); lengthen the warm-up or the hold.",
	}
	judged := false
	for _, span := range e.spans {
		if behind, grew := e.backlog(span); grew {
			r.Observed, r.Limit, r.Unit = &behind, pointer(maxBehind), "share of arrivals"
			r.Outcome = Fail
			r.Detail = fmt.Sprintf("completions fell behind the schedule: %s of the window's arrivals were added to the backlog", percent(behind))
			r.Advice = "See to what the system waits for: it does not do the work that arrives."
			if !e.generatorIsWell() {
				r.Outcome = Invalid
				r.Advice = "Mend the generator first: what it delays piles up too."
			}
			return r
		}
		if span.Seconds() < leastSteady {
			continue
		}
		judged = true
		for _, t := range e.trends(span) {
			if r.Observed == nil || math.Abs(t.Change) > math.Abs(*r.Observed) {
				r.Observed = pointer(t.Change)
			}
			if t.drifts() {
				r.Observed, r.Outcome = pointer(t.Change), Invalid
				r.Detail = fmt.Sprintf("the %s latency drifted by %s over the window (%s to %s)", t.of, signed(t.Change), signed(t.Lower), signed(t.Upper))
				return r
			}
		}
	}
	switch {
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

// drifts tells whether the trend is surely more than maxDrift.
func (t trend) drifts() bool { return t.Lower > maxDrift || t.Upper < -maxDrift }

// trends are those of the medians and means of the transaction's latency over
// the window's batches, as far as they can be told.
func (e *evidence) trends(span record.Span) []trend {
	var medians, means []float64
	for _, b := range cut([]record.Span{span}) {
		h := e.Timeline.Hist(metric.TransactionDuration, nil, b.Span)
		median, ok := h.Quantile(0.5)
		mean, _ := h.Mean()
		if !ok {
			return nil
		}
		medians, means = append(medians, median), append(means, mean)
	}
	return append(relative("median", medians), relative("mean", means)...)
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
	for _, b := range cut([]record.Span{span}) {
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

func (e *evidence) generatorIsWell() bool {
	return !slices.ContainsFunc([]Rule{generatorDrops(e), generatorLag(e), generatorCPU(e)}, func(r Rule) bool { return r.Outcome != Pass })
}
