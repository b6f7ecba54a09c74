package verdict

import (
	"math"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// leastBatch is the least length of a batch in seconds: RULEBOOK section 2 asks
// for a hold of 40 s to cut stats.Batches from. A shorter one has fewer.
const leastBatch = 2

// batch is one group of whole seconds of a judged window.
type batch struct {
	record.Span
	window int // among the judged ones
}

// cut divides windows into batches of nearly equal length: stats.Batches of
// all, shared out by their lengths.
func cut(windows []record.Span) (all []batch) {
	total := int64(0)
	for _, w := range windows {
		total += max(0, w.Seconds())
	}
	for i, w := range windows {
		seconds := max(0, w.Seconds())
		if seconds == 0 {
			continue
		}
		// Two at least, where it can be: one says nothing of how they scatter.
		n := max(1, min(max(2, (stats.Batches*seconds+total/2)/total), seconds/leastBatch))
		for j := range n {
			all = append(all, batch{record.Span{From: w.From + j*seconds/n, To: w.From + (j+1)*seconds/n}, i})
		}
	}
	return all
}

// counts is a counter by batch.
func (e *evidence) counts(name string, selector []metric.Label) []float64 {
	all := make([]float64, len(e.batches))
	for i, b := range e.batches {
		all[i], _ = e.Timeline.Sum(name, selector, b.Span)
	}
	return all
}

// beside puts violations beside the samples that hold them.
func (e *evidence) beside(samples, violations []float64) []stats.Batch {
	all := make([]stats.Batch, len(samples))
	for i := range all {
		all[i] = stats.Batch{N: samples[i], K: violations[i], Stratum: e.batches[i].window}
	}
	return all
}

// distribution is a histogram by batch, and all of it.
type distribution struct {
	cut     []batch
	batches []*metric.Hist // one for each
	all     *metric.Hist
}

// distribution reads a histogram over the judged windows. It is kept, because
// several SLOs and rules read the same.
func (e *evidence) distribution(name string, selector []metric.Label) distribution {
	key := metric.Series{Name: name, Labels: selector}.Key()
	if d, ok := e.distributions[key]; ok {
		return d
	}
	d := distribution{cut: e.batches, all: &metric.Hist{}}
	for _, b := range e.batches {
		h := e.Timeline.Hist(name, selector, b.Span)
		d.batches = append(d.batches, h)
		d.all.Merge(h)
	}
	e.distributions[key] = d
	return d
}

// over counts by batch what is at or over a limit: what is certain, and what is
// possible within the histogram's resolution.
func (d distribution) over(limit float64) (least, most []stats.Batch) {
	for i, h := range d.batches {
		lo, hi := h.AtLeast(limit)
		n, window := float64(h.Count()), d.cut[i].window
		least = append(least, stats.Batch{N: n, K: float64(lo), Stratum: window})
		most = append(most, stats.Batch{N: n, K: float64(hi), Stratum: window})
	}
	return least, most
}

// byWindow are the batches of each window, where there are several.
func byWindow(all []stats.Batch) [][]stats.Batch {
	var each [][]stats.Batch
	for i, b := range all {
		if i == 0 || b.Stratum != all[i-1].Stratum {
			each = append(each, nil)
		}
		each[len(each)-1] = append(each[len(each)-1], b)
	}
	if len(each) < 2 {
		return nil
	}
	return each
}

func windows(all []batch) int {
	seen := map[int]bool{}
	for _, b := range all {
		seen[b.window] = true
	}
	return len(seen)
}

// Of a share with few violations the design effect is that of its series at
// its 200th largest value (RULEBOOK section 2).
const (
	fewViolations = 20
	reference     = 200
)

// effectAt is the design effect of being among the largest samples of the
// series: about as many as named, at most half of them. A series all of whose
// values are alike shows no effect.
func (d distribution) effectAt(largest float64) float64 {
	n := float64(d.all.Count())
	limit, ok := d.all.Quantile(1 - min(largest, n/2)/n)
	if ok {
		// What is in the limit's own bucket counts, or a coarse bucket would
		// leave nothing.
		if _, at := d.over(limit); stats.Sum(at).K < n {
			if deff, known := stats.Effect(at); known {
				return deff
			}
		}
		above, _ := d.over(math.Nextafter(limit, math.Inf(1)))
		if deff, known := stats.Effect(above); known {
			return deff
		}
	}
	return d.few()
}

// few is the design effect of a series of these batches that shows none.
func (d distribution) few() float64 { return stats.Few(len(d.cut) - windows(d.cut) + 1) }

// effect is the design effect of counting these violations.
func effect(counted []stats.Batch, series distribution) float64 {
	if total := stats.Sum(counted); total.K >= fewViolations {
		if deff, ok := stats.Effect(counted); ok {
			return deff
		}
	}
	deff, few := series.effectAt(reference), series.few()
	if math.IsInf(few, 0) || series.all.Count() == 0 {
		return deff
	}
	// Within a batch the samples are as alike as those of the series; with
	// fewer of them in it that weighs less: deff = 1 + rho (m - 1) (Kish,
	// Survey Sampling, section 5.4).
	m := stats.Sum(counted).N / float64(len(counted))
	alike := min(1, m*float64(len(series.batches))/float64(series.all.Count()))
	return (1 + (deff/few-1)*alike) * few
}

// interval bounds the p-quantile of the source by order statistics of the
// effective samples.
func (d distribution) interval(p float64) (lower, upper *float64) {
	n := float64(d.all.Count())
	largest := n * (1 - p)
	if largest < fewViolations {
		largest = reference
	}
	deff := d.effectAt(largest)
	low, high, hasLow, hasHigh := stats.Ranks(n/deff, p)
	if v, ok := d.all.Quantile(low); ok && hasLow {
		lower = &v
	}
	if v, ok := d.all.Quantile(high); ok && hasHigh {
		upper = &v
	}
	return lower, upper
}
