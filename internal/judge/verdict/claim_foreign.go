// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// maxForeignLimitations bounds what is said of other senders.
const maxForeignLimitations = 12

// foreignLimitations say how other senders' samples were counted, and how exactly.
func foreignLimitations(p *part) (all []string) {
	e := p.evidence
	for _, s := range p.slos {
		if s.With != nil {
			all = append(all, fmt.Sprintf("%s %s is decided by the workers' samples alone: with those of other senders, which may only make it worse, it would be %s", s.Metric, s.Expression, s.With))
		}
	}
	for _, c := range p.classes {
		if c.alone {
			all = append(all, fmt.Sprintf("%s %s of this class is judged by the workers' samples alone: with those of other senders, which may only make it worse, it would look better", c.slo.MetricText(), c.slo.Expression))
		}
	}
	seen, protocols := map[string]bool{}, map[*metric.Protocol]bool{}
	for _, s := range p.Plan.Profile.WholeSLOs() {
		if s.Kind() != spec.KindSamples || !mayContribute(s.Metric) {
			continue
		}
		if !seen[s.Metric] {
			seen[s.Metric] = true
			all = slices.Concat(all, contributors(e, s), foreignNotJudged(e, s), refusedPoints(e, s))
			if of := metric.ProtocolOf(s.Metric); of != nil && !protocols[of] {
				protocols[of] = true
				all = append(all, foreignFailures(e, of)...)
			}
		}
		if s.Aggregate != spec.Rate {
			all = append(all, aroundLimit(e, s)...)
		}
	}
	if len(all) > 0 {
		all = append(all, senderDelays(e)...)
	}
	if n := len(all); n > maxForeignLimitations {
		all = append(all[:maxForeignLimitations-1:maxForeignLimitations-1], fmt.Sprintf("and %d more about other senders", n-maxForeignLimitations+1))
	}
	return all
}

// contributors says what each sender contributed to the metric of an SLO: samples that belong
// to a judged window, and those that may.
func contributors(e *evidence, s spec.SLO) (all []string) {
	name, kind := s.Metric, metric.Histogram
	if s.Aggregate == spec.Rate {
		name, kind = s.Metric+metric.RateTotal, metric.Counter
	}
	type contributor struct {
		whole, part float64
		longest     int64         // s, interval
		over        []record.Span // the seconds for which it reported
	}
	senders, total := map[string]*contributor{}, 0.0
	for _, c := range e.contributions(name, kind, nil) {
		by := cmp.Or(senders[c.Source], &contributor{})
		senders[c.Source] = by
		n := c.Value
		if kind == metric.Histogram {
			n = float64(c.Count())
		}
		if c.whole {
			by.whole, total = by.whole+n, total+n
		} else {
			by.part += n
		}
		by.longest, by.over = max(by.longest, c.Over.Seconds()), append(by.over, c.Over)
	}
	if kind == metric.Histogram {
		total += float64(e.distribution(name, nil).own)
	} else {
		total += sum(e.counts(name, nil))
	}
	for _, source := range slices.Sorted(maps.Keys(senders)) {
		by := senders[source]
		text := fmt.Sprintf("%s sent %s of %s samples of %s, by the second in which it recorded them, and with any delay that it caused itself", source, number(by.whole), number(total), s.Metric)
		if by.part > 0 {
			text += fmt.Sprintf("; %s more, in intervals of up to %d s, may belong to a judged window or not", number(by.part), by.longest)
		}
		if seconds := secondsReported(e, by.over); seconds < e.seconds {
			text += fmt.Sprintf("; it reported for %d of %d judged seconds", seconds, e.seconds)
		}
		all = append(all, text)
	}
	return all
}

// foreignFailures says how far what other senders call failed can be checked: their scripts
// decide that.
func foreignFailures(e *evidence, of *metric.Protocol) (all []string) {
	type sender struct{ total, said, known, seen, excusable float64 }
	senders := map[string]*sender{}
	by := func(source string) *sender {
		senders[source] = cmp.Or(senders[source], &sender{})
		return senders[source]
	}
	for _, c := range e.contributions(of.Failed+metric.RateTotal, metric.Counter, nil) {
		by(c.Source).total += c.Value
	}
	for _, c := range e.contributions(of.Failed+metric.RateOccurred, metric.Counter, nil) {
		by(c.Source).said += c.Value
	}
	for _, c := range e.foreignRequests(of, nil) {
		b := by(c.Source)
		b.seen += c.failed
		if c.status != "" {
			b.known += c.Value
		}
		if c.status != "" && !of.Succeeds(c.status) {
			b.excusable += c.Value
		}
	}
	for _, source := range slices.Sorted(maps.Keys(senders)) {
		b := senders[source]
		if b.known < b.total {
			all = append(all, fmt.Sprintf("%s decides by itself which requests have failed: the status of %s of %s requests is not known", source, number(b.total-b.known), number(b.total)))
		}
		if b.seen > b.said {
			all = append(all, fmt.Sprintf("%s says that %s requests have failed, but by their status %s have: the larger number counts", source, number(b.said), number(b.seen)))
		}
		if excused := b.excusable - max(b.said, b.seen); excused > 0 {
			all = append(all, fmt.Sprintf("%s excuses %s requests with a status that is a failure", source, number(excused)))
		}
	}
	return all
}

// secondsReported counts the judged seconds within at least one of the spans.
func secondsReported(e *evidence, over []record.Span) (n int64) {
	slices.SortFunc(over, func(a, b record.Span) int { return cmp.Compare(a.From, b.From) })
	for _, window := range e.spans {
		at := window.From
		for _, o := range over {
			from, to := max(o.From, at), min(o.To, window.To)
			if from < to {
				n, at = n+to-from, to
			}
		}
	}
	return n
}

// foreignNotJudged names senders whose samples of a metric have another unit or kind.
func foreignNotJudged(e *evidence, s spec.SLO) (all []string) {
	seen := map[string]bool{}
	for _, span := range e.spans {
		for _, p := range e.Timeline.Foreign(s.Metric, nil, span) {
			text := ""
			switch unit := e.unit(s.Metric); {
			case s.Aggregate == spec.Rate:
				text = fmt.Sprintf("%s sends %s as a %s, not as %s%s and %s: not judged", p.Source, s.Metric, p.Kind, s.Metric, metric.RateOccurred, metric.RateTotal)
			case p.Kind != metric.Histogram:
				text = fmt.Sprintf("%s sends %s as a %s, not as a histogram: not judged", p.Source, s.Metric, p.Kind)
			case !sameUnit(p.Series.Unit, unit):
				text = fmt.Sprintf("%s sends %s in %q, not in %q: not judged", p.Source, s.Metric, p.Series.Unit, unit)
			}
			if text != "" && !seen[text] {
				seen[text] = true
				all = append(all, text)
			}
		}
	}
	return all
}

// aroundLimit says, for each sender with coarse buckets, how many samples may violate an
// SLO or not because a bucket contains its limit.
func aroundLimit(e *evidence, s spec.SLO) (all []string) {
	senders := map[string]*metric.Hist{}
	for _, c := range e.distribution(s.Metric, s.Selector).foreign {
		senders[c.Source] = cmp.Or(senders[c.Source], &metric.Hist{})
		c.Merge(senders[c.Source])
	}
	for _, source := range slices.Sorted(maps.Keys(senders)) {
		n, low, high := senders[source].Around(s.LeastViolating())
		if n == 0 || high <= low*(1+resolution) {
			continue
		}
		unit := unitOf(e, s)
		where := "between " + number(low) + " and " + quantity.Format(high, unit)
		if !finite(high) {
			where = "above " + quantity.Format(low, unit)
		}
		text := fmt.Sprintf("of %s, %d samples are only known to lie %s, and may violate %s %s or not", source, n, where, s.MetricText(), s.Expression)
		if s.Operator == "<" && high == s.Bound {
			text += fmt.Sprintf(" (its buckets include their upper bound: %s would be counted exactly)", strings.Replace(s.Expression, "<", "<=", 1))
		}
		all = append(all, text)
	}
	return all
}

// refusedPoints names the points of a metric that were not recorded.
func refusedPoints(e *evidence, s spec.SLO) (all []string) {
	type key struct{ source, name, reason string }
	points := map[key]float64{}
	for _, p := range e.Timeline.Foreign(metric.ForeignRefused, nil, record.All) {
		name := p.Series.Label("metric")
		of := metric.WithoutRate(name)
		if of == s.Metric || name == "" {
			points[key{p.Source, cmp.Or(name, "metrics"), p.Series.Label("reason")}] += p.Value
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(points), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.name, b.name), cmp.Compare(a.reason, b.reason))
	}) {
		all = append(all, fmt.Sprintf("%s points of %s from %s were not recorded (%s)", number(points[k]), k.name, k.source, k.reason))
	}
	return all
}

// Delays of exports that a network and a retry explain, ms. A clock that is ahead shows as
// a negative one.
const maxDelay, maxAhead = 2000, 500

// senderDelays names senders whose clock seems to differ, so that their samples may be booked in
// wrong seconds.
func senderDelays(e *evidence) (all []string) {
	shortest := map[string]float64{}
	for _, p := range e.Timeline.Foreign(metric.ForeignDelay, nil, record.All) {
		if d, known := shortest[p.Source]; !known || p.Value < d {
			shortest[p.Source] = p.Value
		}
	}
	for _, source := range slices.Sorted(maps.Keys(shortest)) {
		switch d := shortest[source]; {
		case d > maxDelay:
			all = append(all, fmt.Sprintf("each export of %s arrived at least %s after the time that it states: it is sent late, or its clock is behind", source, quantity.Format(d, "ms")))
		case d < -maxAhead:
			all = append(all, fmt.Sprintf("an export of %s arrived %s before the time that it states: its clock is ahead", source, quantity.Format(-d, "ms")))
		}
	}
	return all
}
