// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// judgeGauge decides an SLO on a gauge, such as replica lag or queue depth, by one
// reading for each judged second: the largest over all series. The readings are always
// counted, never inferred: of a level that takes ten seconds to change, 600 readings
// have only some 30 independent ones (docs/rulebook.md: a batch of 30 s holds twelve
// correlation times of 2.5 s at most). A second without a reading of every series may
// have broken the bound, so that a gap never passes. Each window must hold by itself
// (docs/rulebook.md).
func judgeGauge(p *part, s spec.SLO) SLO {
	d := s.Descriptor()
	out := newSLO(s, unitOf(p.evidence, s))
	r := readingsOf(p.evidence, d)
	if len(r.values) == 0 {
		return out
	}
	certain, possible := r.violations(s)
	out.count(certain, possible)
	allowed := allowedViolations(s, int64(len(possible)))
	out.Allowed = &allowed
	slices.Sort(r.values) // the order statistic that the SLO bounds
	rank := int(math.Ceil(quantileOf(s)*float64(len(r.values)) - 1e-9))
	out.Observed = &r.values[min(max(rank, 1), len(r.values))-1]
	out.Outcome = decideByCount(int64(stats.Sum(certain).K), int64(stats.Sum(possible).K), allowed)
	if each := stats.Windows(possible); len(each) > 1 && out.Outcome != Fail {
		out.judgeWindows(s, stats.Windows(certain), each)
	}
	return out
}

// judgeWindows fails an SLO on a gauge where one window breaks it by itself, and leaves
// it undecided where one may have more violations than it allows.
func (out *SLO) judgeWindows(s spec.SLO, certain, possible [][]stats.Batch) {
	for i := range possible {
		least, most := stats.Sum(certain[i]), stats.Sum(possible[i])
		n := int64(least.N)
		switch {
		case stats.Count(s.AllowedShare(), n, int64(least.K)) == stats.Broken:
			out.Outcome, out.FailedWindow, out.CloseWindow = Fail, new(i+1), nil
			return
		case out.CloseWindow == nil && int64(most.K) > allowedViolations(s, n):
			out.Outcome, out.CloseWindow = Inconclusive, new(i+1)
		}
	}
}

// readings are the readings of a gauge in the judged windows.
type readings struct {
	values  []float64 // values of the seconds that have one
	seconds []reading // every judged second
}

// reading is the largest value over all series in one second.
type reading struct {
	value    float64
	seen     bool // at least one series was read
	complete bool // every series was read
	window   int
}

// violations counts the seconds that violate the SLO for certain, and those that may.
func (r readings) violations(s spec.SLO) (certain, possible []stats.Batch) {
	for _, x := range r.seconds {
		lo, hi := stats.Batch{N: 1, Stratum: x.window}, stats.Batch{N: 1, Stratum: x.window}
		switch {
		case x.seen && s.Violates(x.value): // whatever the values of the missing series
			lo.K, hi.K = 1, 1
		case !x.complete:
			hi.K = 1
		}
		certain, possible = append(certain, lo), append(possible, hi)
	}
	return certain, possible
}

// readingsOf reads a gauge from the source that the catalogue names. A gauge with a
// label for readers has a series for each of the run's replicas.
func readingsOf(e *evidence, d metric.Descriptor) (r readings) {
	expected := 1
	if slices.Contains(d.Labels, metric.LabelReader) {
		expected = max(1, len(e.Plan.Readers))
	}
	for n, span := range e.spans {
		window := e.windowOf[n]
		largest, series := Readings(e.Timeline, d, span)
		for i, v := range largest {
			x := reading{value: v, seen: series[i] > 0, complete: series[i] >= expected, window: window}
			if x.seen {
				r.values = append(r.values, v)
			}
			r.seconds = append(r.seconds, x)
		}
	}
	return r
}

// Readings are the largest reading of a gauge in each second of a span, over all series,
// and the number of series that were read in it; 0: there is no reading. NaN, infinite
// and negative values are not readings.
func Readings(line *record.Timeline, d metric.Descriptor, span record.Span) (largest []float64, series []int) {
	seconds := max(0, span.Seconds())
	largest, series = make([]float64, seconds), make([]int, seconds)
	read := map[string]bool{} // another source may send series with the same labels
	for _, s := range line.Series(d.Name) {
		var selector []metric.Label
		for _, key := range d.Labels {
			selector = append(selector, metric.Label{Key: key, Value: s.Label(key)})
		}
		if key := (metric.Series{Labels: selector}).Key(); read[key] {
			continue
		} else {
			read[key] = true
		}
		values, ok := line.Gauge(d.Name, selector, d.Sources[0], span)
		for i, v := range values {
			if ok[i] && v >= 0 && !math.IsInf(v, 0) {
				largest[i] = max(largest[i], v)
				series[i]++
			}
		}
	}
	return largest, series
}
