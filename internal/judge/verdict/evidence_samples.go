// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
)

// counts is the value of a counter in each judged second.
func (e *evidence) counts(name string, selector []metric.Label) (all []float64) {
	for _, span := range e.spans {
		all = append(all, e.Timeline.Counts(name, selector, span)...)
	}
	return all
}

// bySecond combines samples and violations of each judged second; the stratum is the
// second's window.
func (e *evidence) bySecond(samples, violations []float64) []stats.Batch {
	all := make([]stats.Batch, len(samples))
	for i := range all {
		all[i] = stats.Batch{N: samples[i], K: violations[i], Stratum: e.windows[i]}
	}
	return all
}

// distribution is a histogram over the judged windows. The histograms of single
// seconds are not kept, to save memory, but read again where needed; counts made from
// them are kept until it was described.
type distribution struct {
	evidence *evidence
	name     string
	selector []metric.Label
	all      *metric.Hist            // with the samples of other senders that belong to a window for certain
	own      uint64                  // samples in all without those
	foreign  []contribution          // contributions of other senders
	counted  map[float64]exceedances // by limit
}

// exceedances counts the samples of each second that are at or over a limit: for
// certain, and possibly, within the histogram's resolution.
type exceedances struct{ certain, possible []stats.Batch }

// distribution reads a histogram over the judged windows. It is kept for the other
// SLOs and rules that use it.
func (e *evidence) distribution(name string, selector []metric.Label) *distribution {
	key := metric.Series{Name: name, Labels: selector}.Key()
	if d, ok := e.distributions[key]; ok {
		return d
	}
	d := &distribution{evidence: e, name: name, selector: selector, all: &metric.Hist{}, counted: map[float64]exceedances{}}
	for _, span := range e.spans {
		e.Timeline.MergeHist(d.all, name, selector, span)
	}
	d.own, d.foreign = d.all.Count(), e.contributions(name, metric.Histogram, selector)
	for _, c := range d.foreign {
		if c.whole {
			c.Merge(d.all)
		}
	}
	e.distributions[key] = d
	return d
}

// each visits the histogram of each judged second, with the samples of other senders
// whose interval ends in it. h is valid during the visit only.
func (d *distribution) each(visit func(second int, h *metric.Hist)) {
	rest := d.foreign
	d.eachOwn(func(i int, h *metric.Hist) {
		for ; len(rest) > 0 && rest[0].second == i; rest = rest[1:] {
			if rest[0].whole {
				rest[0].Merge(h)
			}
		}
		visit(i, h)
	})
}

// eachOwn is each without other senders.
func (d *distribution) eachOwn(visit func(second int, h *metric.Hist)) {
	h := &metric.Hist{}
	for i := range d.evidence.windows {
		h.Reset()
		d.evidence.Timeline.MergeHist(h, d.name, d.selector, d.evidence.at(i))
		visit(i, h)
	}
}

// count counts the samples of each second at or over each limit, in one pass.
func (d *distribution) count(limits ...float64) {
	limits = slices.DeleteFunc(limits, func(limit float64) bool { _, ok := d.counted[limit]; return ok })
	if len(limits) == 0 {
		return
	}
	made := make([]exceedances, len(limits))
	seconds := len(d.evidence.windows)
	for j := range made {
		made[j] = exceedances{make([]stats.Batch, 0, seconds), make([]stats.Batch, 0, seconds)}
	}
	d.each(func(i int, h *metric.Hist) {
		n, window := float64(h.Count()), d.evidence.windows[i]
		for j, limit := range limits {
			lo, hi := h.AtLeast(limit)
			made[j].certain = append(made[j].certain, stats.Batch{N: n, K: float64(lo), Stratum: window})
			made[j].possible = append(made[j].possible, stats.Batch{N: n, K: float64(hi), Stratum: window})
		}
	})
	for j, limit := range limits {
		d.counted[limit] = made[j]
	}
}

// thresholdOfLargest is the value that about this many of the largest samples reach,
// at most half of all.
func (d *distribution) thresholdOfLargest(largest float64) (limit float64, ok bool) {
	n := float64(d.all.Count())
	return d.all.Quantile(1 - min(largest, n/2)/n)
}

// countLargest counts the largest samples of the series in each second: about as many
// as given, at most half of all.
func (d *distribution) countLargest(largest float64) []stats.Batch {
	limit, ok := d.thresholdOfLargest(largest)
	if !ok {
		return nil
	}
	if _, known := d.counted[limit]; !known { // the other usual limits will be needed too
		limits := []float64{limit}
		for _, l := range []float64{stats.Reference, 0.5, 0.1, 0.05, 0.01, 0.001} {
			if l < 1 {
				l *= float64(d.all.Count())
			}
			if other, ok := d.thresholdOfLargest(l); ok && !slices.Contains(limits, other) {
				limits = append(limits, other)
			}
		}
		d.count(limits...)
	}
	// Samples in the limit's own bucket count, or a coarse bucket would leave none. If
	// that includes all samples, only those above the bucket count.
	if at := d.counted[limit].possible; stats.Sum(at).K < float64(d.all.Count()) {
		return at
	}
	limit = math.Nextafter(limit, math.Inf(1))
	d.count(limit)
	return d.counted[limit].possible
}

// interval is the confidence interval of the p-quantile, by order statistics of the
// effective samples. A side is nil where the samples do not bound it.
func (d *distribution) interval(p float64) (lower, upper *float64) {
	n := float64(d.all.Count())
	deff := stats.Test{Q: 1 - p, Alpha: stats.Alpha}.Infer(d.countLargest(n*(1-p)), d.countLargest).DesignEffect
	low, high, hasLow, hasHigh := stats.QuantileRanks(n/deff, p)
	if v, _, ok := d.all.Interval(low); ok && hasLow {
		lower = &v
	}
	if _, v, ok := d.all.Interval(high); ok && hasHigh && finite(v) {
		upper = &v
	}
	return lower, upper
}

// resolution is the width, relative to its lower end, up to which a quantile is known as a
// number: about that of our own buckets.
const resolution = 0.01

// ends are between which values the p-quantile of the samples lies, where these are known
// less exactly than as a number; the upper one is nil where there is no such value. Both
// are nil where it is known, or has no data.
func (d *distribution) ends(p float64) (least, most *float64) {
	lower, upper, ok := d.all.Interval(p)
	if !ok || upper <= lower*(1+resolution) {
		return nil, nil
	}
	if finite(upper) {
		most = &upper
	}
	return &lower, most
}
