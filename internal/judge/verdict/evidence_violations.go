// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// violations counts the samples that violate a condition in each judged second.
type violations struct {
	// As measured: for certain, and possibly. The two are the same where the workers
	// counted exactly.
	certain, possible []stats.Batch
	// cleared are the certain violations without the time that the generator itself
	// added (docs/rulebook.md).
	cleared []stats.Batch
	// booked are the samples of a rate that belong to a judged second for certain; only
	// those of other senders may not, and then the violations are uncertain too.
	booked    []stats.Batch
	uncertain bool
	doubt     float64 // possible violations of other senders that are not certain
	lumped    bool    // samples of several seconds are booked together
	// series is the latency from whose largest values the correlation of neighbouring
	// samples is estimated.
	series *distribution
}

// possibleCleared are the possible violations without the time that the generator
// itself added.
func (v violations) possibleCleared() []stats.Batch {
	all := slices.Clone(v.possible)
	for i := range all {
		all[i].K = max(0, all[i].K-max(0, v.certain[i].K-v.cleared[i].K))
	}
	return all
}

// violationsOf counts the samples that violate an SLO on samples.
func violationsOf(e *evidence, s spec.SLO) violations {
	if s.Aggregate == spec.Rate {
		return rateViolations(e, s)
	}
	return latencyViolations(e, s, e.distribution(s.Metric, s.Selector))
}

// latencyViolations counts the samples that violate an SLO on latency by the workers'
// exact counters. Where these do not cover the workers' samples (thresholds other than
// the run's) it bounds them by the histogram's buckets, as always those of other senders.
func latencyViolations(e *evidence, s spec.SLO, d *distribution) violations {
	v := violations{series: d}
	exact := exactCounts(e, s, metric.Violations)
	if n := stats.Sum(exact).N; n > 0 && n >= float64(d.own) {
		v.certain, v.possible, v.cleared = exact, exact, exactCleared(e, s, exact)
	} else {
		v.certain, v.possible = boundedViolations(e, s, d)
	}
	if v.cleared == nil {
		v.cleared = certainlyCleared(e, s, d)
	}
	v.possible = addOpenRequests(e, s, v.possible)
	foreignLatency(e, s, d).addTo(&v)
	return v
}

// exactCounts are exact counts of the workers for this SLO, by second.
func exactCounts(e *evidence, s spec.SLO, name string) []stats.Batch {
	selector := label("slo", s.ID())
	return e.bySecond(e.counts(metric.Judged, selector), e.counts(name, selector))
}

// exactCleared are the exact counts of cleared violations; nil where there are
// violations and no worker counted cleared ones.
func exactCleared(e *evidence, s spec.SLO, exact []stats.Batch) []stats.Batch {
	if stats.Sum(exact).K > 0 && !e.has(metric.ViolationsCleared, label("slo", s.ID())) {
		return nil
	}
	return exactCounts(e, s, metric.ViolationsCleared)
}

// addOpenRequests adds, as possible violations, the requests that were still open when
// the run ended, by the time that they had taken until then.
func addOpenRequests(e *evidence, s spec.SLO, possible []stats.Batch) []stats.Batch {
	failures := metric.IsRequestFailed(s.Metric)
	if !failures && !metric.IsRequestTime(s.Metric) || failures && !s.Violates(1) || !e.has(metric.OpenRequests, nil) {
		return possible
	}
	possible = slices.Clone(possible)
	e.distribution(metric.OpenRequests, nil).each(func(i int, h *metric.Hist) {
		open := h.Count()
		if !failures {
			_, open = h.AtLeast(s.LeastViolating())
		}
		possible[i].N += float64(open)
		possible[i].K += float64(open)
	})
	return possible
}

// has reports whether the record has a matching series.
func (e *evidence) has(name string, selector []metric.Label) bool {
	return slices.ContainsFunc(e.Timeline.Series(name), func(s metric.Series) bool { return s.Matches(selector) })
}

// boundedViolations bounds the violations as measured by the histogram's buckets.
func boundedViolations(e *evidence, s spec.SLO, d *distribution) (certain, possible []stats.Batch) {
	bound := s.LeastViolating()
	bad, exact := violatingOutcomes(e, s)
	d.eachOwn(func(i int, h *metric.Hist) {
		low, high := atLeast(h, bound)
		n, window := float64(h.Count()), e.windows[i]
		if exact {
			low = min(n, max(low, bad[i]))
		}
		// Some of the failed ones may be slow as well, and are already counted.
		high = min(n, max(low, high+bad[i]))
		certain = append(certain, stats.Batch{N: n, K: low, Stratum: window})
		possible = append(possible, stats.Batch{N: n, K: high, Stratum: window})
	})
	return certain, possible
}

// atLeast bounds the number of observations at or over a limit. At least the largest one
// is for certain, as histograms know it better than by its bucket.
func atLeast(h *metric.Hist, limit float64) (low, high float64) {
	lo, hi := h.AtLeast(limit)
	if highest, ok := h.Max(); ok && highest >= limit {
		lo = max(lo, 1)
	}
	return float64(lo), float64(hi)
}

// certainlyCleared is a lower bound, by the histogram, of the violations without the
// generator's share: the samples that exceed the bound by more than the generator can
// have added. That is all its stall time from the second of the sample until the
// slowest sample of that second ended, and for transactions their late start too, see
// minOverBound. Failures count only where the generator did not stall.
func certainlyCleared(e *evidence, s spec.SLO, d *distribution) (certain []stats.Batch) {
	bound := s.LeastViolating()
	bad, exact := violatingOutcomes(e, s)
	stalls := e.Timeline.BySecond(metric.GeneratorStall, nil)
	late := &metric.Hist{} // stays empty for requests
	var own []metric.Label // by flow: the generator's share of a class is not known
	if s.OfTransactions() {
		own = labelsOf(metric.GeneratorLag, s.Selector)
	}
	// How long a transaction can matter after the start of its second.
	longest := float64((e.plan.Timeout + time.Second) / time.Millisecond)
	d.eachOwn(func(i int, h *metric.Hist) {
		n, second, added := float64(h.Count()), e.at(i), 0.0
		slowest, _ := h.Max()
		for t := int64(0); t <= int64(math.Ceil(min(slowest, longest)/1000))+1; t++ {
			added += stalls[second.From+t]
		}
		if late.Reset(); s.OfTransactions() {
			e.Timeline.MergeHist(late, metric.GeneratorLag, own, second)
		}
		k := minOverBound(h, late, bound+added)
		if exact && added <= 0 { // the generator did not stall
			lost, _ := e.Timeline.Sum(metric.GeneratorDropped, own, second)
			k = max(k, bad[i]-lost)
		}
		certain = append(certain, stats.Batch{N: n, K: min(n, max(0, k)), Stratum: e.windows[i]})
	})
	return certain
}

// minOverBound is the certain number of samples at or over a bound after subtracting a
// delay of which only the distribution is known. For any x it is at least the number
// of samples at or over bound + x, less the number delayed by more than x (Fréchet's
// inequality); the result is the largest over several x.
func minOverBound(h, delay *metric.Hist, bound float64) (k float64) {
	at := func(x, delayed float64) {
		certain, _ := atLeast(h, bound+x)
		k = max(k, certain-delayed)
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

// violatingOutcomes counts in each second the samples that violate whatever their
// latency: uncompleted transactions and failed requests. It is too high, and not exact,
// where the selector has a label that the outcome does not have.
func violatingOutcomes(e *evidence, s spec.SLO) (n []float64, exact bool) {
	switch {
	case s.OfTransactions():
		return e.notCompletedBySecond(s.Selector), true
	case metric.IsRequestTime(s.Metric):
		failed := metric.ProtocolOf(s.Metric).Failed
		if total := e.tally(failed+metric.RateTotal, s.Selector); total.found {
			return e.counts(failed+metric.RateOccurred, s.Selector), true
		}
		return e.counts(failed+metric.RateOccurred, nil), false
	}
	return make([]float64, len(e.windows)), true
}

// rateViolations counts the samples that violate an SLO on a rate. Rates always have
// exact counters: those of the SLO, or the two of the metric itself.
func rateViolations(e *evidence, s spec.SLO) violations {
	v := violations{series: latencySeries(e, s)}
	exact := exactCounts(e, s, metric.Violations)
	totals := e.counts(s.Metric+metric.RateTotal, s.Selector)
	if n := stats.Sum(exact).N; n > 0 && n >= sum(totals) {
		v.certain, v.cleared = exact, exactCleared(e, s, exact)
	} else {
		v.certain = e.bySecond(totals, e.counts(s.Metric+metric.RateOccurred, s.Selector))
		if s.AtLeast() {
			for i := range v.certain {
				v.certain[i].K = v.certain[i].N - v.certain[i].K
			}
		}
	}
	if v.cleared == nil {
		v.cleared = withoutUnanswered(e, s, v.certain)
	}
	v.possible, v.booked = addOpenRequests(e, s, v.certain), v.certain
	foreignRate(e, s).addTo(&v)
	return v
}

// withoutUnanswered omits failed requests without an answer in seconds in which the
// generator stalled: the generator may be the cause.
func withoutUnanswered(e *evidence, s spec.SLO, counted []stats.Batch) []stats.Batch {
	if !metric.IsRequestFailed(s.Metric) {
		return counted
	}
	cleared, of := slices.Clone(counted), metric.ProtocolOf(s.Metric)
	known := labelsOf(of.Requests, s.Selector) // without the others, more may be the generator's
	for _, status := range of.Unanswered {
		unanswered := e.counts(of.Requests, append(label("status", status), known...))
		for i, stalled := range e.counts(metric.GeneratorStall, nil) {
			if stalled > 0 {
				cleared[i].K = max(0, cleared[i].K-unanswered[i])
			}
		}
	}
	return cleared
}

// labelsOf are the labels of a selector that series of a metric may have.
func labelsOf(name string, selector []metric.Label) []metric.Label {
	d, _ := metric.Find(name)
	return slices.DeleteFunc(slices.Clone(selector), func(l metric.Label) bool { return !slices.Contains(d.Labels, l.Key) })
}

// latencySeries is the latency whose correlation is used for a rate with few
// violations: that of its requests, else that of the transaction.
func latencySeries(e *evidence, s spec.SLO) *distribution {
	if metric.IsRequestFailed(s.Metric) {
		if d := e.distribution(metric.ProtocolOf(s.Metric).Duration(), s.Selector); d.all.Count() > 0 {
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
