package verdict

import (
	"math"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// judgeGauge decides by the readings of a gauge, one a second of the judged
// windows, of several series the largest: the lag of readers, the depth of a queue.
// They are counted in this run and nothing is inferred from them. A level that
// takes ten seconds to change leaves of 600 readings some 30 that are independent
// (RULEBOOK 2a: a batch of 30 s holds twelve correlation times of 2.5 s at most).
// A second without a reading of every series may have broken the bound, so that a
// gap never passes. Each window holds by itself (RULEBOOK 2b).
func judgeGauge(e *evidence, s spec.SLO) SLO {
	d := s.Descriptor()
	out := newSLO(s, unitOf(e, s))
	r := e.readings(d)
	if len(r.values) == 0 {
		return out
	}
	least, most := r.violations(s)
	out.count(least, most)
	n, lo, hi := int64(len(most)), int64(stats.Sum(least).K), int64(stats.Sum(most).K)
	allowed := mayViolate(s, n)
	out.Allowed = &allowed
	out.Observed = quantileOf(r.values, s)
	out.Outcome = byCount(lo, hi, allowed)
	if each := perWindow(most); len(each) > 1 && out.Outcome != Fail {
		out.judgeWindows(s, perWindow(least), each)
	}
	return out
}

// judgeWindows fails an SLO on a gauge that one window breaks by itself, and leaves
// one undecided of which a window may hold more violations than it allows.
func (out *SLO) judgeWindows(s spec.SLO, least, most [][]stats.Batch) {
	for i := range most {
		total, possible := stats.Sum(least[i]), stats.Sum(most[i])
		n := int64(total.N)
		switch {
		case stats.Count(allowedShare(s), n, int64(total.K)) == stats.Broken:
			out.Outcome, out.FailedWindow, out.CloseWindow = Fail, pointer(i+1), nil
			return
		case out.CloseWindow == nil && int64(possible.K) > mayViolate(s, n):
			out.Outcome, out.CloseWindow = Inconclusive, pointer(i+1)
		}
	}
}

// readings are the readings of a gauge in the judged windows.
type readings struct {
	values  []float64 // of the seconds that have any, in order
	seconds []reading // every judged second
}

// reading is the largest of one second.
type reading struct {
	value  float64
	seen   bool // at least one series was read
	whole  bool // every series was
	window int
}

// violations counts the seconds that violate the SLO for certain, and the seconds
// that may.
func (r readings) violations(s spec.SLO) (least, most []stats.Batch) {
	for _, one := range r.seconds {
		sure, possible := stats.Batch{N: 1, Stratum: one.window}, stats.Batch{N: 1, Stratum: one.window}
		switch {
		case one.seen && s.Violates(one.value): // whatever the series that were not read did
			sure.K, possible.K = 1, 1
		case !one.whole:
			possible.K = 1
		}
		least, most = append(least, sure), append(most, possible)
	}
	return least, most
}

// readings reads a gauge from the source that the catalogue names. One that has a
// label for readers has a series for each of the run's replicas.
func (e *evidence) readings(d metric.Descriptor) (r readings) {
	expected := 1
	if slices.Contains(d.Labels, metric.LabelReader) {
		expected = max(1, len(e.Plan.Readers))
	}
	for window, span := range e.spans {
		largest, series := e.largest(d, span)
		for i, v := range largest {
			one := reading{value: v, seen: series[i] > 0, whole: series[i] >= expected, window: window}
			if one.seen {
				r.values = append(r.values, v)
			}
			r.seconds = append(r.seconds, one)
		}
	}
	return r
}

// largest is the largest reading of each second of a span, and of how many series.
// What is no number, or less than 0, is no reading.
func (e *evidence) largest(d metric.Descriptor, span record.Span) (largest []float64, series []int) {
	seconds := max(0, span.Seconds())
	largest, series = make([]float64, seconds), make([]int, seconds)
	read := map[string]bool{} // what another source sends may have the same labels
	for _, s := range e.Timeline.Series(d.Name) {
		var selector []metric.Label
		for _, key := range d.Labels {
			selector = append(selector, metric.Label{Key: key, Value: s.Label(key)})
		}
		if key := (metric.Series{Labels: selector}).Key(); read[key] {
			continue
		} else {
			read[key] = true
		}
		values, ok := e.Timeline.Gauge(d.Name, selector, d.Sources[0], span)
		for i, v := range values {
			if ok[i] && v >= 0 && !math.IsInf(v, 0) {
				largest[i] = max(largest[i], v)
				series[i]++
			}
		}
	}
	return largest, series
}

// quantileOf is the order statistic that the SLO bounds.
func quantileOf(values []float64, s spec.SLO) *float64 {
	q := 1.0
	if s.Aggregate == spec.Percentile {
		q = s.Quantile
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9))
	return &sorted[min(max(rank, 1), len(sorted))-1]
}
