// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// class is the part of an SLO's samples that have the same labels: an endpoint, a method, a
// group, a check, a flow (metric.Classes).
type class struct {
	pool    spec.SLO
	slo     spec.SLO    // pool with the labels of the class in its selector
	counted stats.Batch // samples, and certain violations without the generator's share
	p       float64     // probability of at least this many violations, were the class exactly at its limit
	over    bool        // more violations than the class's own samples allow
	perhaps bool        // likewise, if all those count that other senders' buckets or intervals leave open
	outcome Outcome     // Fail, or 0
	alone   bool        // by the samples of the workers alone
}

// of is the evidence by which the class was judged.
func (c class) of(e *evidence) *evidence {
	if c.alone {
		return e.workersAlone()
	}
	return e
}

// String is like "checks{check:amount} rate>0.9 (60 of 60 violate it)".
func (c class) String() string {
	return fmt.Sprintf("%s %s (%s of %s violate it)", c.slo.MetricText(), c.slo.Expression, number(c.counted.K), number(c.counted.N))
}

// judgeClasses judges each class by itself: a fast and frequent one must not hide another. As
// there may be a thousand, a class fails only after Holm's correction over all classes of the
// SLO (docs/rulebook.md). A class for which the profile has an SLO of its own, on the same
// percentile or rate, is judged by that one.
func judgeClasses(e *evidence) (all []class) {
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if s.Kind() != spec.KindSamples || s.Aggregate == spec.Max {
			continue
		}
		classes := judgeEach(e, s)
		if e.diluted(s) {
			for _, alone := range judgeEach(e.workersAlone(), s) {
				i := slices.IndexFunc(classes, func(c class) bool { return c.slo.MetricText() == alone.slo.MetricText() })
				if i < 0 { // theirs are split otherwise
					alone.alone = true
					classes = append(classes, alone)
				} else if with := classes[i]; alone.outcome > with.outcome || alone.outcome == with.outcome && (alone.over && !with.over || alone.perhaps && !with.perhaps) {
					alone.alone = true
					classes[i] = alone
				}
			}
		}
		all = append(all, classes...)
	}
	return all
}

// judgeEach judges each class of an SLO. Those that are broken at stats.Alpha, adjusted for
// their number, fail.
func judgeEach(e *evidence, s spec.SLO) (classes []class) {
	var ps []*float64
	for _, part := range split(s, seriesOfSLO(e, s), classLabels(e, s)) {
		if hasOwn(e, s, part) {
			continue
		}
		if c, ok := judgeClass(e, part); ok {
			c.pool = s
			classes, ps = append(classes, c), append(ps, &c.p)
		}
	}
	for i, adjusted := range effect.Holm(ps) {
		if *adjusted <= stats.Alpha {
			classes[i].outcome = Fail
		}
	}
	return classes
}

// judgeClass computes p of a class. It is false where the class has no sample.
func judgeClass(e *evidence, s spec.SLO) (class, bool) {
	c := class{slo: s, p: 1}
	v := violationsOf(e, s)
	counted := withoutDisplaced(e, v.cleared)
	most, q := stats.Sum(v.possible), s.AllowedShare()
	if most.N == 0 {
		return c, false
	}
	allowed := float64(stats.Allowed(q, int64(most.N)))
	c.counted, c.over, c.perhaps = stats.Sum(counted), most.K-v.doubt > allowed, most.K > allowed
	if c.perhaps { // most of a thousand classes need no test
		c.p = atLimit(counted, q, v.series.countLargest)
	}
	windows := stats.Windows(counted)
	for _, w := range windows {
		if total := stats.Sum(w); len(windows) > 1 && stats.Count(q, int64(total.N), int64(total.K)) == stats.Broken {
			c.p = min(c.p, float64(len(windows))*atLimit(w, q, nil))
		}
	}
	return c, true
}

// atLimit is the probability of at least as many violations, were their share exactly q. Where
// the seconds are too few to estimate the design effect, all samples of a second count as one.
func atLimit(counted []stats.Batch, q float64, countLargest func(float64) []stats.Batch) float64 {
	total := stats.Sum(counted)
	switch {
	case total.K == 0:
		return 1
	case q <= 0:
		return 0
	case total.K >= total.N:
		return stats.AtLeast(total.N, total.N, q)
	}
	deff := stats.Test{Q: q, Alpha: stats.Alpha}.Infer(counted, countLargest).DesignEffect
	if !finite(deff) {
		deff = max(1, total.N/float64(len(slices.DeleteFunc(slices.Clone(counted), func(b stats.Batch) bool { return b.N == 0 }))))
	}
	return stats.AtLeast(total.N/deff, total.K/deff, q)
}

// classLabels are the labels by which an SLO is split: of an SLO that all flows have in common,
// first by flow.
func classLabels(e *evidence, s spec.SLO) []string {
	keys := slices.Clone(metric.Classes(s.Metric))
	if e.Plan.Profile.Named() {
		keys = slices.Insert(keys, 0, "scenario")
	}
	return slices.DeleteFunc(keys, func(key string) bool { return selects(s, key) })
}

func byKey(a, b metric.Label) int { return strings.Compare(a.Key, b.Key) }

func selects(s spec.SLO, key string) bool {
	return slices.ContainsFunc(s.Selector, func(l metric.Label) bool { return l.Key == key })
}

// seriesOfSLO are the series of the samples that an SLO judges.
func seriesOfSLO(e *evidence, s spec.SLO) []metric.Series {
	name := s.Metric
	if s.Aggregate == spec.Rate {
		name += metric.RateTotal
	}
	return slices.DeleteFunc(slices.Clone(e.seriesOf(name)), func(of metric.Series) bool { return !of.Matches(s.Selector) })
}

// split splits an SLO on these series by the first label, and each part by the next ones. A part
// that is all there is, is no class. Series beyond the limit on their number are a class of
// what has no label.
func split(s spec.SLO, of []metric.Series, labels []string) (all []spec.SLO) {
	if len(labels) == 0 {
		return nil
	}
	var values []metric.Label
	parts := map[metric.Label][]metric.Series{}
	for _, series := range of {
		l := metric.Label{Key: labels[0], Value: series.Label(labels[0])}
		if overflow := overflowOf(series); l.Value == "" && overflow != "" {
			l = metric.Label{Key: overflow, Value: "true"}
		}
		if parts[l] == nil {
			values = append(values, l)
		}
		parts[l] = append(parts[l], series)
	}
	for _, l := range values {
		part := s
		if !selects(s, l.Key) && (l.Value != "" || len(values) > 1) {
			part.Selector = append(slices.Clone(s.Selector), l)
			if l.Key != labels[0] { // overflow, without what has the label
				part.Selector = append(part.Selector, metric.Label{Key: labels[0]})
			}
			slices.SortFunc(part.Selector, byKey)
		}
		if len(values) > 1 {
			all = append(all, part)
		}
		all = append(all, split(part, parts[l], labels[1:])...)
	}
	return all
}

var overflowLabels = []string{metric.OverflowLabel, metric.ForeignOverflowLabel}

// overflowOf is the overflow label of a series; empty: it has none.
func overflowOf(s metric.Series) string {
	for _, key := range overflowLabels {
		if s.Label(key) != "" {
			return key
		}
	}
	return ""
}

// hasOwn reports whether the profile has a narrower SLO that judges the class of a wider one.
func hasOwn(e *evidence, pool, class spec.SLO) bool {
	return slices.ContainsFunc(e.Plan.Profile.WholeSLOs(), func(own spec.SLO) bool {
		return own.Metric == class.Metric && own.Aggregate == class.Aggregate && own.Quantile == class.Quantile &&
			len(own.Selector) > len(pool.Selector) && metric.Series{Labels: class.Selector}.Matches(own.Selector)
	})
}

// endpointNames are the names of a protocol's requests, each once; empty: some have none.
func endpointNames(e *evidence, of *metric.Protocol) (names []string) {
	seen := map[string]bool{}
	for _, s := range e.seriesOf(of.Duration()) {
		if name := s.Label("name"); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
