package verdict

import (
	"math"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// counts is a counter by judged second.
func (e *evidence) counts(name string, selector []metric.Label) (all []float64) {
	for _, span := range e.spans {
		all = append(all, e.Timeline.Counts(name, selector, span)...)
	}
	return all
}

// bySecond puts violations beside the samples that hold them; the window of each
// second is its stratum.
func (e *evidence) bySecond(samples, violations []float64) []stats.Batch {
	all := make([]stats.Batch, len(samples))
	for i := range all {
		all[i] = stats.Batch{N: samples[i], K: violations[i], Stratum: e.windows[i]}
	}
	return all
}

// perWindow are the seconds of each window, in order.
func perWindow(seconds []stats.Batch) (each [][]stats.Batch) {
	for i, b := range seconds {
		if i == 0 || b.Stratum != seconds[i-1].Stratum {
			each = append(each, nil)
		}
		each[len(each)-1] = append(each[len(each)-1], b)
	}
	return each
}

// distribution is a histogram over the judged windows. What it was second by
// second is read again where it is asked for, which takes less memory; what was
// counted so is kept.
type distribution struct {
	evidence *evidence
	name     string
	selector []metric.Label
	all      *metric.Hist
	counted  map[float64]exceeding // by limit
}

// exceeding counts by second what is at or over a limit: what is certain, and what
// is possible within the histogram's resolution.
type exceeding struct{ least, most []stats.Batch }

// distribution reads a histogram over the judged windows. It is kept, because
// several SLOs and rules read the same.
func (e *evidence) distribution(name string, selector []metric.Label) *distribution {
	key := metric.Series{Name: name, Labels: selector}.Key()
	if d, ok := e.distributions[key]; ok {
		return d
	}
	d := &distribution{evidence: e, name: name, selector: selector, all: &metric.Hist{}, counted: map[float64]exceeding{}}
	for _, span := range e.spans {
		e.Timeline.MergeHist(d.all, name, selector, span)
	}
	e.distributions[key] = d
	return d
}

// each visits the histogram of each judged second, which is valid until the next.
func (d *distribution) each(visit func(second int, h *metric.Hist)) {
	h, i := &metric.Hist{}, 0
	for _, span := range d.evidence.spans {
		for at := span.From; at < span.To; at++ {
			h.Reset()
			d.evidence.Timeline.MergeHist(h, d.name, d.selector, record.Span{From: at, To: at + 1})
			visit(i, h)
			i++
		}
	}
}

// count counts by second what is at or over each of these limits, in one pass.
func (d *distribution) count(limits ...float64) {
	limits = slices.DeleteFunc(limits, func(limit float64) bool { _, ok := d.counted[limit]; return ok })
	if len(limits) == 0 {
		return
	}
	made := make([]exceeding, len(limits))
	d.each(func(i int, h *metric.Hist) {
		n, window := float64(h.Count()), d.evidence.windows[i]
		for j, limit := range limits {
			lo, hi := h.AtLeast(limit)
			made[j].least = append(made[j].least, stats.Batch{N: n, K: float64(lo), Stratum: window})
			made[j].most = append(made[j].most, stats.Batch{N: n, K: float64(hi), Stratum: window})
		}
	})
	for j, limit := range limits {
		d.counted[limit] = made[j]
	}
}

// largestLimit is the value that about so many of the largest samples reach, at
// most half of them.
func (d *distribution) largestLimit(largest float64) (limit float64, ok bool) {
	n := float64(d.all.Count())
	return d.all.Quantile(1 - min(largest, n/2)/n)
}

// above counts by second the largest samples of the series: about as many as
// named, at most half of them.
func (d *distribution) above(largest float64) []stats.Batch {
	limit, ok := d.largestLimit(largest)
	if !ok {
		return nil
	}
	if _, known := d.counted[limit]; !known { // others will be asked for
		limits := []float64{limit}
		for _, l := range []float64{stats.Reference, 0.5, 0.1, 0.05, 0.01, 0.001} {
			if l < 1 {
				l *= float64(d.all.Count())
			}
			if other, ok := d.largestLimit(l); ok && !slices.Contains(limits, other) {
				limits = append(limits, other)
			}
		}
		d.count(limits...)
	}
	// What is in the limit's own bucket counts, or a coarse bucket would leave
	// nothing; but where that is everything, what is above it does.
	if at := d.counted[limit].most; stats.Sum(at).K < float64(d.all.Count()) {
		return at
	}
	limit = math.Nextafter(limit, math.Inf(1))
	d.count(limit)
	return d.counted[limit].most
}

// interval bounds the p-quantile of the source by order statistics of the
// effective samples.
func (d *distribution) interval(p float64) (lower, upper *float64) {
	n := float64(d.all.Count())
	deff := stats.Test{Q: 1 - p, Alpha: stats.Alpha}.Infer(d.above(n*(1-p)), d.above).DesignEffect
	low, high, hasLow, hasHigh := stats.Ranks(n/deff, p)
	if v, ok := d.all.Quantile(low); ok && hasLow {
		lower = &v
	}
	if v, ok := d.all.Quantile(high); ok && hasHigh {
		upper = &v
	}
	return lower, upper
}
