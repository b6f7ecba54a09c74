// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// gaugeCharts has a chart for each gauge with SLOs, in the order of the SLOs, with their
// bounds.
func gaugeCharts(r record.Run, spans []record.Span) (charts []page.Chart) {
	var names []string
	for _, s := range r.Plan.Profile.WholeSLOs() {
		if s.Kind() != spec.KindGauge {
			continue
		}
		d := s.Descriptor()
		i := slices.Index(names, d.Name)
		if i < 0 {
			i = len(names)
			names = append(names, d.Name)
			title := d.Name
			if d.Unit != "" {
				title += ", " + d.Unit
			}
			charts = append(charts, page.Chart{Title: title, Curves: []page.Curve{{
				Label: d.Name, Color: "#2f6fd0", Values: each(spans, func(span record.Span) *float64 { return largest(r, d, span) }),
			}}})
		}
		if c := &charts[i]; len(c.Curves) <= maxBounds {
			c.Curves = append(c.Curves, page.Curve{Label: s.Expression, Level: &s.Bound, Color: "bad", Line: page.Dashed})
		}
	}
	return charts
}

// largest is the largest reading of a gauge within a span; nil: no reading.
func largest(r record.Run, d metric.Descriptor, span record.Span) *float64 {
	values, series := verdict.Readings(r.Timeline, d, span)
	var v *float64
	for i := range values {
		if series[i] > 0 && (v == nil || values[i] > *v) {
			v = &values[i]
		}
	}
	if v == nil {
		return nil
	}
	return rounded(*v)
}
