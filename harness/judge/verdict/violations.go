package verdict

import (
	"math"
	"slices"
	"strings"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// violations are the samples that break a condition, by judged second.
type violations struct {
	// As measured: what is certain and what is possible. They are the same where
	// workers counted exactly.
	least, most []stats.Batch
	// cleared are the violations that are certain even without what the generator
	// itself added (RULEBOOK section 1a).
	cleared []stats.Batch
	// series is the latency whose largest values tell how alike neighbouring
	// samples are.
	series *distribution
}

// mostCleared are the violations that are possible without what the generator itself
// added.
func (v violations) mostCleared() []stats.Batch {
	all := slices.Clone(v.most)
	for i := range all {
		all[i].K = max(0, all[i].K-max(0, v.least[i].K-v.cleared[i].K))
	}
	return all
}

// violationsOf counts the samples that violate an SLO on latency, and bounds them:
// by the workers' exact counters, or where those do not cover the metric
// (thresholds other than the run's, foreign senders) by the histogram's buckets.
func (e *evidence) violationsOf(s spec.SLO, d *distribution) violations {
	v := violations{series: d}
	if exact := e.exactly(s, metric.Violations); stats.Sum(exact).N > 0 && stats.Sum(exact).N >= float64(d.all.Count()) {
		v.least, v.most = exact, exact
		v.cleared = e.exactlyCleared(s, exact)
	} else {
		v.least, v.most = e.bounded(s, d)
	}
	if v.cleared == nil {
		v.cleared = e.clearedAtLeast(s, d)
	}
	v.most = e.addOpenRequests(s, v.most)
	return v
}

// exactly reads by second an exact count that the workers kept for this SLO.
func (e *evidence) exactly(s spec.SLO, name string) []stats.Batch {
	selector := label("slo", s.ID())
	return e.bySecond(e.counts(metric.Judged, selector), e.counts(name, selector))
}

// exactlyCleared reads the exact violations that workers also counted as cleared; nil
// where there are violations and no worker counted cleared ones, as in old records.
func (e *evidence) exactlyCleared(s spec.SLO, exact []stats.Batch) []stats.Batch {
	if stats.Sum(exact).K > 0 && !e.has(metric.ViolationsCleared, label("slo", s.ID())) {
		return nil
	}
	return e.exactly(s, metric.ViolationsCleared)
}

// addOpenRequests adds the requests that were still open when the run ended, which may
// count for the SLO, with the time that they had taken.
func (e *evidence) addOpenRequests(s spec.SLO, most []stats.Batch) []stats.Batch {
	failures := s.Metric == metric.RequestFailed
	if !strings.HasPrefix(s.Metric, "http_req_") || failures && !s.Violates(1) || !e.has(metric.OpenRequests, nil) {
		return most
	}
	most = slices.Clone(most)
	e.distribution(metric.OpenRequests, nil).each(func(i int, h *metric.Hist) {
		open := h.Count()
		if !failures {
			_, open = h.AtLeast(leastViolating(s))
		}
		most[i].N += float64(open)
		most[i].K += float64(open)
	})
	return most
}

// has tells whether the record has a series of a name.
func (e *evidence) has(name string, selector []metric.Label) bool {
	return slices.ContainsFunc(e.Timeline.Series(name), func(s metric.Series) bool { return s.Matches(selector) })
}

// bounded bounds the violations as measured by the histogram.
func (e *evidence) bounded(s spec.SLO, d *distribution) (least, most []stats.Batch) {
	bound := leastViolating(s)
	bad, exact := e.violatingOutcomes(s)
	d.each(func(i int, h *metric.Hist) {
		lo, hi := h.AtLeast(bound)
		n, window := float64(h.Count()), e.windows[i]
		low, high := float64(lo), float64(hi)
		if highest, _ := h.Max(); highest >= bound && n > 0 {
			low = max(low, 1) // the maximum is exact
		}
		if exact {
			low = min(n, max(low, bad[i]))
		}
		// Some of the bad ones may be slow as well, and are counted already.
		high = min(n, max(low, high+bad[i]))
		least = append(least, stats.Batch{N: n, K: low, Stratum: window})
		most = append(most, stats.Batch{N: n, K: high, Stratum: window})
	})
	return least, most
}

// leastViolating is the least value that violates an upper bound.
func leastViolating(s spec.SLO) float64 {
	if s.Operator == "<=" {
		return math.Nextafter(s.Bound, math.Inf(1))
	}
	return s.Bound
}

// clearedAtLeast bounds from below, by the histogram, the violations without the
// generator's share: a sample violates if it is over the bound by more than the
// generator can have added to it. That is all time for which it stood still from
// the second of the sample until the slowest of that second had ended; and for
// transactions their late start, see overDespiteDelay. What failed counts where the
// generator did not stand still at all.
func (e *evidence) clearedAtLeast(s spec.SLO, d *distribution) (least []stats.Batch) {
	bound := leastViolating(s)
	bad, exact := e.violatingOutcomes(s)
	stalls := e.Timeline.BySecond(metric.GeneratorStall, nil)
	lag := &metric.Hist{}
	first := make([]int64, len(e.windows)) // unix second of each
	for i, n := 0, 0; i < len(e.spans); i++ {
		for at := e.spans[i].From; at < e.spans[i].To; at, n = at+1, n+1 {
			first[n] = at
		}
	}
	d.each(func(i int, h *metric.Hist) {
		second, n := first[i], float64(h.Count())
		added := 0.0
		slowest, _ := h.Max()
		for t := int64(0); t <= int64(math.Ceil(min(slowest, float64(e.reach()))/1000))+1; t++ {
			added += stalls[second+t]
		}
		stood := added > 0
		late := lag // of a request: nothing
		if late.Reset(); s.Metric == metric.TransactionDuration {
			e.Timeline.MergeHist(late, metric.GeneratorLag, nil, record.Span{From: second, To: second + 1})
		}
		k := overDespiteDelay(h, late, bound+added)
		if exact && !stood {
			k = max(k, bad[i]-e.lost(second))
		}
		least = append(least, stats.Batch{N: n, K: min(n, max(0, k)), Stratum: e.windows[i]})
	})
	return least
}

// overDespiteDelay is how many samples are, for certain, at or over a bound even without a
// delay of which only the distribution is known. For any x at least as many are as
// reach bound + x, less those that were delayed by more than x (Frechet's
// inequality); the best of some x counts.
func overDespiteDelay(h, delay *metric.Hist, bound float64) (k float64) {
	at := func(x, delayed float64) {
		lo, _ := h.AtLeast(bound + x)
		least := float64(lo)
		if highest, ok := h.Max(); ok && highest >= bound+x {
			least = max(least, 1) // the maximum is exact
		}
		k = max(k, least-delayed)
	}
	longest, _ := delay.Max()
	at(longest, 0)
	for _, q := range []float64{0.1, 0.5, 0.75, 0.9, 0.95, 0.99} {
		if x, ok := delay.Quantile(q); ok {
			_, over := delay.AtLeast(math.Nextafter(x, math.Inf(1)))
			at(x, float64(over))
		}
	}
	return k
}

// lost counts the arrivals of a second that the generator itself lost.
func (e *evidence) lost(second int64) float64 {
	n, _ := e.Timeline.Sum(metric.GeneratorDropped, nil, record.Span{From: second, To: second + 1})
	return n
}

// reach is, in ms, how long after its second a transaction may go on, as far as
// anything is asked of it.
func (e *evidence) reach() int64 { return int64((e.plan.Timeout + time.Second) / time.Millisecond) }

// violatingOutcomes counts by second the samples that violate whatever they took:
// transactions that did not complete, and requests that failed. It is not exact,
// and then too high, where the selector is by a label that the outcome does not
// have.
func (e *evidence) violatingOutcomes(s spec.SLO) (n []float64, exact bool) {
	switch {
	case s.Metric == metric.TransactionDuration:
		return e.notCompletedBy(), true
	case strings.HasPrefix(s.Metric, "http_req_"):
		if total := e.tally(metric.RequestFailed+metric.RateTotal, s.Selector); total.found {
			return e.counts(metric.RequestFailed+metric.RateOccurred, s.Selector), true
		}
		return e.counts(metric.RequestFailed+metric.RateOccurred, nil), false
	}
	return make([]float64, len(e.windows)), true
}

// ratesOf counts the samples that violate an SLO on a rate. Rates have exact
// counters always: those of the SLO, or the two of the metric itself.
func (e *evidence) ratesOf(s spec.SLO) violations {
	v := violations{series: e.latencyOf(s)}
	exact := e.exactly(s, metric.Violations)
	totals := e.counts(s.Metric+metric.RateTotal, s.Selector)
	if n := stats.Sum(exact).N; n > 0 && n >= sum(totals) {
		v.least, v.cleared = exact, e.exactlyCleared(s, exact)
	} else {
		v.least = e.bySecond(totals, e.counts(s.Metric+metric.RateOccurred, s.Selector))
		if s.AtLeast() {
			for i := range v.least {
				v.least[i].K = v.least[i].N - v.least[i].K
			}
		}
	}
	if v.cleared == nil {
		v.cleared = e.withoutUnanswered(s, v.least)
	}
	v.most = e.addOpenRequests(s, v.least)
	return v
}

// withoutUnanswered leaves out failed requests without an answer where the
// generator stood still: they may be its own.
func (e *evidence) withoutUnanswered(s spec.SLO, counted []stats.Batch) []stats.Batch {
	if s.Metric != metric.RequestFailed {
		return counted
	}
	cleared := slices.Clone(counted)
	unanswered := e.counts(metric.Requests, append(label("status", "0"), s.Selector...))
	for i, stood := range e.counts(metric.GeneratorStall, nil) {
		if stood > 0 {
			cleared[i].K = max(0, cleared[i].K-unanswered[i])
		}
	}
	return cleared
}

// latencyOf is the series whose resemblance of neighbours a rate with few
// violations takes: that of its requests, else the transaction's.
func (e *evidence) latencyOf(s spec.SLO) *distribution {
	if s.Metric == metric.RequestFailed {
		if d := e.distribution(metric.RequestDuration, s.Selector); d.all.Count() > 0 {
			return d
		}
	}
	return e.distribution(metric.TransactionDuration, nil)
}

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}
