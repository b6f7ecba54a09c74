// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/quantity"
)

// Outlier is a run that stands out of its side, and what the comparison is without it. It
// stays in the comparison: medians and ranks are little moved by one run, but a reader has
// to know that one run is why an interval is wide, or why a change is not significant.
type Outlier struct {
	Side    string          `json:"side" jsonschema:"enum=a,enum=b"`
	Folder  string          `json:"folder" jsonschema:"minLength=1"`
	Run     string          `json:"run" jsonschema:"minLength=1"`
	Metrics []Deviation     `json:"metrics" jsonschema:"minItems=1"` // those in which it stands out, the clearest first
	Without []WithoutMetric `json:"without"`                         // decisions that differ without it, and without its partner

	pair  int // its index in the pairs, or in its side where not paired
	score float64
}

// Deviation is the value of an outlier in one metric.
type Deviation struct {
	Metric string  `json:"metric" jsonschema:"minLength=1"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Median float64 `json:"median"` // of the runs of its side

	score float64
}

// WithoutMetric is the decision on a metric if the outlier had not been made.
type WithoutMetric struct {
	Metric   string          `json:"metric" jsonschema:"minLength=1"`
	Ratio    *float64        `json:"ratio"`
	Decision effect.Decision `json:"decision" jsonschema:"enum=changed,enum=equivalent,enum=undetermined"`
	Reason   string          `json:"reason"`
}

// leastOutlierRuns is the number of values that it takes to have an outlier, and maxOutliers
// how many are named.
const (
	leastOutlierRuns = 5
	maxOutliers      = 3
)

// outlierScore is by how many robust standard deviations an outlier of n values is away from
// their median: of normally distributed runs at most 3 % have one by chance, in a metric
// (TestOutliersByChance). Fewer values estimate their own spread less well.
func outlierScore(n int) float64 { return 5 + 15/float64(n) }

// outliers are the runs that stand out in any metric with a ratio, the clearest first. In
// pairs it is the ratio within a pair that stands out, since what both runs have in
// common does not disturb a comparison, and the run of the two that is farther from its side.
func outliers(m *matched, metrics []Metric, tolerance float64) []Outlier {
	all := []Outlier{}
	add := func(metric Metric, side string, run int, score float64) {
		r, values, median := m.a, metric.ValuesA, metric.A
		if side == "b" {
			r, values, median = m.b, metric.ValuesB, metric.B
		}
		i := slices.IndexFunc(all, func(o Outlier) bool { return o.Side == side && o.pair == run })
		if i < 0 {
			i, all = len(all), append(all, Outlier{Side: side, Folder: r[run].Folder, Run: r[run].Certificate.Run, pair: run})
		}
		all[i].Metrics = append(all[i].Metrics, Deviation{metric.Name, metric.Unit, *values[run], *median, score})
		all[i].score = max(all[i].score, score)
	}
	for _, metric := range metrics {
		a, okA := logarithms(metric.ValuesA)
		b, okB := logarithms(metric.ValuesB)
		if !okA || !okB {
			continue
		}
		if !m.pairing.Paired {
			for side, logs := range map[string][]float64{"a": a, "b": b} {
				if run, score := farthest(logs, tolerance); run >= 0 {
					add(metric, side, run, score)
				}
			}
			continue
		}
		ratios := make([]float64, len(a))
		for i := range a {
			ratios[i] = b[i] - a[i]
		}
		if pair, score := farthest(ratios, tolerance); pair >= 0 {
			side := "a"
			if deviation(b, pair) > deviation(a, pair) {
				side = "b"
			}
			add(metric, side, pair, score)
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Metrics, func(x, y Deviation) int { return cmp.Compare(y.score, x.score) })
	}
	slices.SortFunc(all, func(x, y Outlier) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.Folder, y.Folder)) })
	return all
}

// logarithms of the values; NaN where there is no data, and false where one has no logarithm.
func logarithms(values []*float64) ([]float64, bool) {
	logs := make([]float64, len(values))
	for i, v := range values {
		switch {
		case v == nil:
			logs[i] = math.NaN()
		case *v <= 0 || math.IsInf(*v, 1):
			return nil, false
		default:
			logs[i] = math.Log(*v)
		}
	}
	return logs, true
}

// farthest is the outlier that is farthest from the median, in standard deviations as the
// median of all deviations gives them (Hampel's identifier); -1: there is none. A spread below
// a third of the tolerance counts as that: what makes no difference does not stand out.
func farthest(values []float64, tolerance float64) (index int, score float64) {
	present := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(present) < leastOutlierRuns {
		return -1, 0
	}
	slices.Sort(present)
	center := effect.Median(present)
	var deviations []float64
	for _, v := range present {
		deviations = append(deviations, math.Abs(v-center))
	}
	slices.Sort(deviations)
	spread := max(1.4826*effect.Median(deviations), math.Log(1+tolerance)/3)
	index = -1
	for i, v := range values {
		if s := math.Abs(v-center) / spread; s >= outlierScore(len(present)) && s > score { // false for NaN
			index, score = i, s
		}
	}
	return index, score
}

// deviation of a value from the median of all; 0 for NaN.
func deviation(values []float64, i int) float64 {
	present := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(present)
	if d := math.Abs(values[i] - effect.Median(present)); !math.IsNaN(d) {
		return d
	}
	return 0
}

// nameOutliers sets the outliers of the comparison, with its decisions without each.
func (c *Comparison) nameOutliers(m *matched) {
	c.Outliers = outliers(m, c.Metrics, c.Tolerance)
	c.Outliers = c.Outliers[:min(len(c.Outliers), maxOutliers)]
	for i := range c.Outliers {
		o := &c.Outliers[i]
		o.Without = []WithoutMetric{}
		rows, _ := decide(without(c.Metrics, o, c.Pairing.Paired), c.Pairing.Paired, c.Tolerance)
		for j, row := range rows {
			if row.Decision != c.Metrics[j].Decision {
				o.Without = append(o.Without, WithoutMetric{row.Name, row.Ratio, row.Decision, row.Reason})
			}
		}
	}
}

// without are the metrics as measured without an outlier and its partner, not decided.
func without(metrics []Metric, o *Outlier, paired bool) (rows []Metric) {
	for _, metric := range metrics {
		row := Metric{Name: metric.Name, Group: metric.Group, Unit: metric.Unit, better: metric.better, ValuesA: slices.Clone(metric.ValuesA), ValuesB: slices.Clone(metric.ValuesB)}
		if paired || o.Side == "a" {
			row.ValuesA = slices.Delete(row.ValuesA, o.pair, o.pair+1)
		}
		if paired || o.Side == "b" {
			row.ValuesB = slices.Delete(row.ValuesB, o.pair, o.pair+1)
		}
		row.A, row.B = median(row.ValuesA), median(row.ValuesB)
		rows = append(rows, row)
	}
	return rows
}

// Pair is the index of its pair in a comparison in pairs.
func (o Outlier) Pair() int { return o.pair }

// Text names the outlier and by how much it stands out in a metric, the first if names is
// empty, else the first of these; empty: in none of them.
func (o Outlier) Text(names ...string) string {
	for i, d := range o.Metrics {
		if len(names) > 0 && !slices.Contains(names, d.Metric) {
			continue
		}
		text := fmt.Sprintf("%s stands out: %s is %s where the median of its side is %s", o.Folder, d.Metric, quantity.Format(d.Value, d.Unit), quantity.Format(d.Median, d.Unit))
		if d.Median > 0 {
			text += fmt.Sprintf(" (%s times)", quantity.Value(d.Value/d.Median, ""))
		}
		if others := len(o.Metrics) - 1; len(names) == 0 && i == 0 && others > 0 {
			text += ", and " + count(others, "other metric")
		}
		return text
	}
	return ""
}

// outlierLimitations name the outliers, and say what would be concluded without each.
func (c Comparison) outlierLimitations() (all []string) {
	for _, o := range c.Outliers {
		without := "all decisions would be the same"
		if len(o.Without) > 0 {
			const shown = 3
			var changes []string
			for _, w := range o.Without[:min(len(o.Without), shown)] {
				changes = append(changes, fmt.Sprintf("%s would be %s", w.Metric, w.Decision))
			}
			if more := len(o.Without) - shown; more > 0 {
				changes = append(changes, fmt.Sprintf("%d more would differ", more))
			}
			without = strings.Join(changes, ", ")
		}
		what := "it"
		if c.Pairing.Paired {
			what = "its pair"
		}
		all = append(all, fmt.Sprintf("%s; without %s %s", o.Text(), what, without))
	}
	return all
}
