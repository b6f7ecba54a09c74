// SPDX-License-Identifier: Apache-2.0

package record

import (
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
)

// Span is the range [From, To) of unix seconds.
type Span struct{ From, To int64 }

// All contains every second. It is for sums only: Counts, Totals and Gauge allocate a
// value for each second of their span.
var All = Span{From: math.MinInt64, To: math.MaxInt64}

// SpanOf is the span of a window of the plan that started at t0.
func SpanOf(t0 time.Time, w plan.Window) Span {
	start := t0.Unix()
	return Span{From: start + int64(w.Start/time.Second), To: start + int64(w.End/time.Second)}
}

// Seconds is the span's length.
func (s Span) Seconds() int64 { return s.To - s.From }

// Sum adds up a counter within the span, over all sources and all series of that name
// that match the selector; false where none has a point in the span.
func (t *Timeline) Sum(name string, selector []metric.Label, span Span) (total float64, found bool) {
	return t.SumOf(anySource, name, selector, span)
}

// SumOf is Sum for one source.
func (t *Timeline) SumOf(source, name string, selector []metric.Label, span Span) (total float64, found bool) {
	t.each(source, name, metric.Counter, selector, span, func(p point) { total, found = total+p.value, true })
	return total, found
}

// Hist merges a histogram within the span, over all sources and all series of
// that name that match the selector. It is empty where there is none.
func (t *Timeline) Hist(name string, selector []metric.Label, span Span) *metric.Hist {
	h := &metric.Hist{}
	t.MergeHist(h, name, selector, span)
	return h
}

// MergeHist is Hist into an existing histogram, which saves allocations.
func (t *Timeline) MergeHist(into *metric.Hist, name string, selector []metric.Label, span Span) {
	for _, s := range t.matching(name, selector) {
		if s.kind != metric.Histogram {
			continue
		}
		s.sort()
		first, _ := s.find(span.From)
		for i := first; i < len(s.hists) && s.hists[i].second < span.To; i++ {
			into.MergePacked(&s.hists[i].hist)
		}
	}
}

// Counts is Sum by second: one value for each second of the span, 0 where it has no
// point.
func (t *Timeline) Counts(name string, selector []metric.Label, span Span) []float64 {
	return t.CountsOf([]string{anySource}, name, selector, span)
}

// CountsOf is Counts for some sources.
func (t *Timeline) CountsOf(sources []string, name string, selector []metric.Label, span Span) []float64 {
	return t.bySecond(sources, name, metric.Counter, selector, span)
}

// Totals is the sum of a histogram's observations by second, in the form of Counts.
func (t *Timeline) Totals(name string, selector []metric.Label, span Span) []float64 {
	return t.bySecond([]string{anySource}, name, metric.Histogram, selector, span)
}

func (t *Timeline) bySecond(sources []string, name string, kind metric.Kind, selector []metric.Label, span Span) []float64 {
	out := make([]float64, max(0, span.Seconds()))
	for _, source := range sources {
		t.each(source, name, kind, selector, span, func(p point) { out[p.second-span.From] += p.value })
	}
	return out
}

// Gauge is a gauge of one source by second; ok[i] is whether second i of the span has
// a value.
func (t *Timeline) Gauge(name string, selector []metric.Label, source string, span Span) (values []float64, ok []bool) {
	values, ok = make([]float64, max(0, span.Seconds())), make([]bool, max(0, span.Seconds()))
	t.each(source, name, metric.Gauge, selector, span, func(p point) {
		values[p.second-span.From] += p.value
		ok[p.second-span.From] = true
	})
	return values, ok
}

// MaxGauge is the largest value of a gauge within the span, over all sources and all
// series of that name that match the selector; false where none has a value in it.
func (t *Timeline) MaxGauge(name string, selector []metric.Label, span Span) (largest float64, found bool) {
	t.each(anySource, name, metric.Gauge, selector, span, func(p point) {
		if !found || p.value > largest {
			largest, found = p.value, true
		}
	})
	return largest, found
}

// CountOf is the number of observations of a histogram from one source, over the whole
// run and all series of that name.
func (t *Timeline) CountOf(source, name string) (n uint64) {
	for _, s := range t.of(name) {
		for _, c := range s.from(source) {
			n += c.observations
		}
	}
	return n
}

// BySecond is Sum for each second that has a point, over the whole run.
func (t *Timeline) BySecond(name string, selector []metric.Label) map[int64]float64 {
	return t.BySecondOf(anySource, name, selector)
}

// BySecondOf is BySecond for one source.
func (t *Timeline) BySecondOf(source, name string, selector []metric.Label) map[int64]float64 {
	out := map[int64]float64{}
	t.each(source, name, metric.Counter, selector, All, func(p point) { out[p.second] += p.value })
	return out
}

// Series lists the series of a name, sorted by key.
func (t *Timeline) Series(name string) (all []metric.Series) {
	for _, s := range t.of(name) {
		all = append(all, s.series)
	}
	return all
}

// Seconds lists the seconds that have a point, in order.
func (t *Timeline) Seconds() (all []int64) {
	for _, s := range t.series {
		if s.length > 0 { // foreign
			continue
		}
		before := len(all)
		s.each(s.columns, All, func(p point) {
			if len(all) == before || all[len(all)-1] != p.second {
				all = append(all, p.second)
			}
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// GaugeSum adds up a gauge in one second over all sources and all series of that name
// that match the selector; false where none has a value in it.
func (t *Timeline) GaugeSum(name string, selector []metric.Label, second int64) (total float64, found bool) {
	t.each(anySource, name, metric.Gauge, selector, Span{From: second, To: second + 1}, func(p point) {
		total, found = total+p.value, true
	})
	return total, found
}

// anySource stands for all sources.
const anySource = ""

// from are the columns of a source.
func (s *timeSeries) from(source string) []*column {
	if source == anySource {
		return s.columns
	}
	i, found := s.findColumn(source)
	if !found {
		return nil
	}
	return s.columns[i : i+1]
}

// each visits the values of a source within a span in a fixed order, so that sums of
// floating-point numbers are reproducible. It visits only the last value of a gauge in each
// source and second.
func (t *Timeline) each(source, name string, kind metric.Kind, selector []metric.Label, span Span, visit func(p point)) {
	for _, s := range t.matching(name, selector) {
		if s.kind == kind {
			s.each(s.from(source), span, visit)
		}
	}
}

// selected are the series of a name that match a selector.
type selected struct {
	name     string
	selector []metric.Label
	series   []*timeSeries
}

// matching lists the series of a name that match the selector. It keeps the last result: the
// same series are read second by second, and a name may have thousands.
func (t *Timeline) matching(name string, selector []metric.Label) []*timeSeries {
	all := t.of(name)
	if len(selector) == 0 {
		return all
	}
	if last := t.selected; last != nil && last.name == name && slices.Equal(last.selector, selector) {
		return last.series
	}
	t.selected = &selected{name: name, selector: slices.Clone(selector)}
	for _, s := range all {
		if s.series.Matches(selector) {
			t.selected.series = append(t.selected.series, s)
		}
	}
	return t.selected.series
}
