// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/quantity"
)

// Metrics is the table of metrics and its legend.
func Metrics(c compare.Comparison) []page.Block {
	a := axisOf(c)
	ends := fmt.Sprintf("%s to %s (logarithmic), tolerance in grey", ratio(math.Exp(-a.reach)), ratio(math.Exp(a.reach)))
	t := page.Table{Columns: slices.Concat(
		page.Names("metric"), page.Words("unit"), page.Numbers("A", "B", "B/A", "95 % interval"), []page.Column{{Name: ends, Kind: page.Graph}},
		page.Numbers("p", "adj. p"), page.Words("decision"),
	)}
	for _, m := range c.Metrics {
		interval := cmp.Or(quantity.Range(m.Lower, m.Upper, "ratio"), quantity.NoData)
		row := page.Cells(m.Name, unit(m.Unit), quantity.OptionalValue(m.A, m.Unit), quantity.OptionalValue(m.B, m.Unit),
			quantity.OptionalValue(m.Ratio, "ratio"), interval, "", P(m.P), P(m.Adjusted), decision(m))
		row[6].Graph = a.interval(m, interval)
		row[9].State = state(m)
		t.Rows = append(t.Rows, row)
	}
	return []page.Block{t, page.Paragraph{Text: legend(c), State: page.Quiet}}
}

// P formats a p-value.
func P(v *float64) string {
	if v == nil {
		return quantity.NoData
	}
	return quantity.Near(*v, effect.Alpha, "")
}

func ratio(v float64) string { return quantity.Value(v, "ratio") }

// unit is the unit of formatted values.
func unit(of string) string {
	if of == "share" {
		return "%"
	}
	return of
}

// decision is the decision in one word.
func decision(m compare.Metric) string {
	if m.Decision == effect.Changed && m.Direction != compare.NoDirection {
		return m.Direction
	}
	return string(m.Decision)
}

func state(m compare.Metric) page.State {
	return map[string]page.State{
		compare.Better: page.Good, compare.Worse: page.Bad, string(effect.Changed): page.Strong, string(effect.Undetermined): page.Quiet,
	}[decision(m)]
}

// legend explains the numbers and decisions of a row.
func legend(c compare.Comparison) string {
	of, metrics := "of a run of B to one of A", "metrics"
	if c.Pairing.Paired {
		of = "within a pair"
	}
	if c.Tested == 1 {
		metrics = "metric"
	}
	lower, upper := effect.Band(c.Tolerance)
	return fmt.Sprintf("A and B are medians over runs, B/A is the median ratio %s, p is adjusted for %d %s. "+
		"Better, worse and changed: the interval lies outside %s to %s, and the adjusted p is at most %g. Equivalent: it lies inside. "+
		"Undetermined: neither. This is not a verdict.", of, c.Tested, metrics, ratio(lower), ratio(upper), effect.Alpha)
}

// axis is logarithmic and centered on 1, so that 2 and 1/2 are equally far from it.
type axis struct {
	reach        float64 // logarithm of the ratio at the right end
	lower, upper float64 // ends of the tolerance band
}

// maxRatio is the largest ratio on an axis: larger ones are drawn at its end.
const maxRatio = 100

// axisOf is an axis that covers all intervals and the tolerance band.
func axisOf(c compare.Comparison) axis {
	a := axis{}
	a.lower, a.upper = effect.Band(c.Tolerance)
	a.reach = 3 * math.Log(a.upper)
	for _, m := range c.Metrics {
		for _, v := range []*float64{m.Ratio, m.Lower, m.Upper} {
			if v != nil {
				a.reach = math.Max(a.reach, 1.1*math.Abs(math.Log(*v)))
			}
		}
	}
	a.reach = math.Min(a.reach, math.Log(maxRatio))
	return a
}

// at is the position of a ratio on the axis, from 0 to 1.
func (a axis) at(ratio float64) float64 {
	return (1 + math.Min(math.Max(math.Log(ratio)/a.reach, -1), 1)) / 2
}

func (a axis) interval(m compare.Metric, label string) page.Interval {
	place := func(ratio *float64) *float64 {
		if ratio == nil {
			return nil
		}
		at := a.at(*ratio)
		return &at
	}
	return page.Interval{
		Label: label, State: state(m), From: place(m.Lower), To: place(m.Upper), Value: place(m.Ratio), BandFrom: a.at(a.lower), BandTo: a.at(a.upper),
	}
}
