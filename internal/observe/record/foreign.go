// SPDX-License-Identifier: Apache-2.0

package record

import "assay.dev/assay/internal/observe/metric"

// Foreign is one point of a foreign sender: what it measured in the interval Over, but
// for the first and the last second, of which the interval may cover a part.
type Foreign struct {
	Source string // like "otlp/checkout"
	Series metric.Series
	Kind   metric.Kind
	Over   Span    // all seconds that the interval touches
	Value  float64 // value of a counter or a gauge
	hist   *metric.Packed
}

// Merge adds the point's histogram, if it is one.
func (f Foreign) Merge(into *metric.Hist) {
	if f.hist != nil {
		into.MergePacked(f.hist)
	}
}

// Count is the number of observations of the point's histogram.
func (f Foreign) Count() uint64 {
	if f.hist == nil {
		return 0
	}
	return f.hist.Count()
}

// Within is whether the point belongs to the span for certain, as a whole.
func (f Foreign) Within(span Span) bool { return f.Over.From >= span.From && f.Over.To <= span.To }

// Foreign lists the points of foreign senders whose interval touches the span, of all
// series of that name that match the selector: by series, then by time. Histograms of
// one series, source and interval are one point; of gauges the last one counts.
func (t *Timeline) Foreign(name string, selector []metric.Label, span Span) (all []Foreign) {
	t.sortSeries()
	for _, s := range t.foreign[name] {
		if !s.series.Matches(selector) {
			continue
		}
		s.sort()
		interval := func(second int64) Foreign {
			return Foreign{Source: s.source, Series: s.series, Kind: s.kind, Over: Span{From: second - s.length + 1, To: second + 1}}
		}
		// An interval ends in its second, and begins up to its length before.
		touches := func(second int64) bool { return second-s.length+1 < span.To }
		if s.kind == metric.Histogram {
			first, _ := s.find(span.From)
			for i := first; i < len(s.hists) && touches(s.hists[i].second); i++ {
				f := interval(s.hists[i].second)
				f.hist = &s.hists[i].hist
				all = append(all, f)
			}
			continue
		}
		to := max(span.To, span.To+s.length-1) // the first, if span is All
		s.each(s.columns, Span{From: span.From, To: to}, func(p point) {
			f := interval(p.second)
			f.Value = p.value
			all = append(all, f)
		})
	}
	return all
}
