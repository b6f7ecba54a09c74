package report

import (
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// gaugeCurve is a gauge that an SLO judges.
type gaugeCurve struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"` // the largest reading of the step
	Bounds []bound    `json:"bounds"`
	Title  string     `json:"-"`
}

// gaugeCurves are the gauges that SLOs judge, in their order, each once.
func gaugeCurves(r record.Run, spans []record.Span) (all []gaugeCurve) {
	for _, s := range r.Plan.Profile.SLOs {
		if !s.OfGauge() {
			continue
		}
		d := s.Descriptor()
		i := slices.IndexFunc(all, func(c gaugeCurve) bool { return c.Name == d.Name })
		if i < 0 {
			i = len(all)
			curve := gaugeCurve{Name: d.Name, Title: d.Name}
			if d.Unit != "" {
				curve.Title += ", " + d.Unit
			}
			curve.Values = each(spans, func(span record.Span) *float64 { return largest(r, d, span) })
			all = append(all, curve)
		}
		if len(all[i].Bounds) < mostBounds {
			all[i].Bounds = append(all[i].Bounds, bound{shorten(oneLine(s.Expression), mostCell), s.Bound})
		}
	}
	return all
}

// largest is the largest reading of a gauge within a span; nil where there is none.
func largest(r record.Run, d metric.Descriptor, span record.Span) (v *float64) {
	for _, series := range r.Timeline.Series(d.Name) {
		values, ok := r.Timeline.Gauge(d.Name, series.Labels, d.Sources[0], span)
		for i := range values {
			if ok[i] && (v == nil || values[i] > *v) {
				v = &values[i]
			}
		}
	}
	if v == nil {
		return nil
	}
	return shown(*v)
}
