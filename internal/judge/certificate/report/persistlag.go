// SPDX-License-Identifier: Apache-2.0

package report

import (
	"assay.dev/assay/internal/judge/page"
	persistence "assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// lagChart shows the persist lag by the second of the acknowledgement, until the queue
// behind the acknowledgements was empty; nothing without a ledger. Of a step of several
// seconds it shows the worst: percentiles must not be averaged.
func lagChart(r record.Run, spans []record.Span) []page.Chart {
	if r.Ledger == nil || len(r.Ledger.BySecond) == 0 || r.Misdated() != "" {
		return nil
	}
	worst := func(of func(persistence.Second) float64) []*float64 {
		return each(spans, func(span record.Span) *float64 {
			var v *float64
			for at := span.From; at < span.To; at++ {
				if s, ok := r.Ledger.BySecond[at]; ok && s.Persisted > 0 && (v == nil || of(s) > *v) {
					v = rounded(of(s))
				}
			}
			return v
		})
	}
	c := page.Chart{Title: "Persist lag, ms, by the time of acknowledgement", Curves: []page.Curve{
		{Label: "p50", Color: "#3f9b50", Values: worst(func(s persistence.Second) float64 { return s.P50 })},
		{Label: "p99", Color: "#8e5bd0", Values: worst(func(s persistence.Second) float64 { return s.P99 })},
		{Label: "max", Color: "#e8862a", Values: worst(func(s persistence.Second) float64 { return s.Max })},
	}}
	for _, s := range r.Plan.Profile.AllSLOs() {
		if s.Metric == metric.PersistLag && len(c.Curves) < 3+maxBounds {
			c.Curves = append(c.Curves, page.Curve{Label: s.Expression, Level: &s.Bound, Color: "bad", Line: page.Dashed})
		}
	}
	charts := []page.Chart{c}
	lost := each(spans, func(span record.Span) *float64 {
		missing, found := int64(0), false
		for at := span.From; at < span.To; at++ {
			s, ok := r.Ledger.BySecond[at]
			missing, found = missing+s.Missing, found || ok
		}
		if !found {
			return nil
		}
		return rounded(float64(missing) / float64(span.Seconds()))
	})
	if r.Ledger.Missing > 0 {
		charts = append(charts, page.Chart{Title: "Acknowledged and missing, per second", Curves: []page.Curve{
			{Label: "missing", Color: "#d81b60", Line: page.Stepped, Values: lost},
		}})
	}
	return charts
}
