// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Other senders than the workers, stock k6 or a service, may contribute samples to an
// SLO on requests, or on a metric of the script. They count nothing exactly by SLO, so
// that violations are bounded by the buckets of their histograms. They report intervals
// of several seconds: one that is partly outside a judged window holds samples of which
// it is not known whether they belong to it. These count as possible violations, which
// a PASS needs, and as possible samples without one, which a FAIL needs.
//
// Their samples never make a verdict better: where the workers have samples too, each SLO,
// endpoint and recovery is decided with and without those of others, and the worse counts.

// contribution is a point of another sender that touches a judged window.
type contribution struct {
	record.Foreign
	second int  // in all judged seconds: that in which the interval ends, or the nearest one of the window
	whole  bool // the whole interval is in the window
}

// mayContribute reports whether other senders' samples of a metric count: not of those
// that workers and collectors alone can measure.
func mayContribute(name string) bool {
	d, known := metric.Find(metric.WithoutRate(name))
	return !known || d.From(metric.SourceK6)
}

// contributions are the points of other senders in the judged windows, in the order of
// their seconds. A unit other than that of the metric's own samples, or another kind,
// is left out: see foreignLimitations.
func (e *evidence) contributions(name string, kind metric.Kind, selector []metric.Label) (all []contribution) {
	if e.ownOnly || !mayContribute(name) {
		return nil
	}
	unit, first := e.unit(name), 0
	for _, span := range e.spans {
		for _, p := range e.Timeline.Foreign(name, selector, span) {
			if p.Kind == kind && sameUnit(p.Series.Unit, unit) && p.Value >= 0 && finite(p.Value) {
				end := min(p.Over.To, span.To) - 1
				all = append(all, contribution{p, first + int(end-span.From), p.Within(span)})
			}
		}
		first += int(max(0, span.Seconds()))
	}
	slices.SortStableFunc(all, func(a, b contribution) int { return cmp.Compare(a.second, b.second) })
	return all
}

// workersAlone is the same evidence without the samples of other senders.
func (e *evidence) workersAlone() *evidence {
	if e.ownOnly {
		return e
	}
	o := *e
	o.ownOnly, o.distributions = true, map[string]*distribution{}
	return &o
}

// diluted reports whether other senders have samples of an SLO's metric in the judged windows,
// and the workers some of the SLO.
func (e *evidence) diluted(s spec.SLO) bool {
	n := len(e.contributions(s.Metric, metric.Histogram, nil)) + len(e.contributions(s.Metric+metric.RateTotal, metric.Counter, nil))
	if metric.IsRequestFailed(s.Metric) {
		n += len(e.contributions(metric.ProtocolOf(s.Metric).Requests, metric.Counter, nil))
	}
	if n == 0 {
		return false
	}
	return stats.Sum(violationsOf(e.workersAlone(), s).possible).N > 0
}

// worseAlone decides an SLO by the workers' samples alone, where that is worse than with those
// of other senders. One that holds is undecided if some of these were not read.
func worseAlone(e *evidence, s spec.SLO, with SLO, decide func(*evidence, spec.SLO) SLO) SLO {
	if with.Outcome == Pass && mayContribute(s.Metric) && e.Timeline.LeftOut().Has(s.Metric) {
		with.Outcome, with.Doubt = Inconclusive, "samples of other senders are left out: they sent more than is read of them"
	}
	if !e.diluted(s) {
		return with
	}
	alone := decide(e.workersAlone(), s)
	if Worse(with.Outcome, alone.Outcome) == with.Outcome {
		return with
	}
	alone.With = &with.Outcome
	return alone
}

// unit is that of a metric's samples: of the catalogue, else of the script's own series,
// else of the first of other senders.
func (e *evidence) unit(name string) string {
	if d, known := metric.Find(name); known {
		return d.Unit
	}
	if strings.HasSuffix(name, metric.RateTotal) || strings.HasSuffix(name, metric.RateOccurred) {
		return ""
	}
	for _, s := range e.Timeline.Series(name) {
		return s.Unit
	}
	for _, p := range e.Timeline.Foreign(name, nil, record.All) {
		return p.Series.Unit
	}
	return "ms"
}

// sameUnit compares units. Numbers of things have several spellings in UCUM, the unit of
// OpenTelemetry: "", "1" and "{request}".
func sameUnit(a, b string) bool {
	plain := func(unit string) string {
		if unit == "1" || strings.HasPrefix(unit, "{") {
			return ""
		}
		return unit
	}
	return plain(a) == plain(b)
}

// seriesOf are the series of a metric, of workers and of other senders.
func (e *evidence) seriesOf(name string) []metric.Series {
	all := e.Timeline.Series(name)
	seen := map[string]bool{}
	kind := metric.Histogram
	if metric.WithoutRate(name) != name {
		kind = metric.Counter
	}
	for _, c := range e.contributions(name, kind, nil) {
		if key := c.Series.Key(); !seen[key] {
			seen[key] = true
			all = append(all, c.Series)
		}
	}
	return all
}

// bounded are samples of which violate at least low, and at most high.
type bounded struct{ n, low, high float64 }

func (b *bounded) add(n, low, high float64) { b.n, b.low, b.high = b.n+n, b.low+low, b.high+high }

// foreignSamples are what other senders contribute to each judged second.
type foreignSamples struct {
	by     map[foreignSecond]*bounded
	lumped bool // intervals are longer than the shortest batch, which hides the correlation of its seconds
}

// foreignSecond is a judged second, to which samples belong for certain (whole) or possibly.
type foreignSecond struct {
	second int
	whole  bool
}

func (f *foreignSamples) at(c contribution) *bounded {
	// An interval touches up to one second more than it is long.
	f.lumped = f.lumped || c.Over.Seconds() > stats.MinBatch+1
	return f.key(foreignSecond{c.second, c.whole})
}

func (f *foreignSamples) key(at foreignSecond) *bounded {
	if f.by[at] == nil {
		f.by[at] = &bounded{}
	}
	return f.by[at]
}

// addTo adds the samples to violations.
func (f *foreignSamples) addTo(v *violations) {
	if len(f.by) == 0 {
		return
	}
	v.lumped = f.lumped
	v.certain, v.possible, v.cleared, v.booked = slices.Clone(v.certain), slices.Clone(v.possible), slices.Clone(v.cleared), slices.Clone(v.booked)
	for at, b := range f.by {
		add := func(to []stats.Batch, n, k float64) {
			if to != nil {
				to[at.second].N, to[at.second].K = to[at.second].N+n, to[at.second].K+k
			}
		}
		most := min(b.n, b.high)
		if at.whole {
			add(v.certain, b.n, b.low)
			add(v.cleared, b.n, b.low)
			add(v.booked, b.n, b.low)
			add(v.possible, b.n, most)
			v.doubt += most - b.low
			continue
		}
		v.uncertain = true
		add(v.certain, b.n-b.low, 0)
		add(v.cleared, b.n-b.low, 0)
		add(v.possible, most, most)
		v.doubt += most
	}
}

// foreignLatency bounds the violations of an SLO on latency by other senders' buckets. A
// request that failed violates too; by how much the failed and the slow ones overlap is
// not known.
func foreignLatency(e *evidence, s spec.SLO, d *distribution) *foreignSamples {
	f, h := &foreignSamples{by: map[foreignSecond]*bounded{}}, &metric.Hist{}
	for _, c := range d.foreign {
		h.Reset()
		c.Merge(h)
		lo, hi := atLeast(h, s.LeastViolating())
		f.at(c).add(float64(h.Count()), lo, hi)
	}
	if metric.IsRequestTime(s.Metric) {
		failed := foreignOccurrences(e, metric.ProtocolOf(s.Metric).Failed, s.Selector)
		for at, b := range failed.by {
			f.key(at).high += b.low
		}
		f.lumped = f.lumped || failed.lumped
	}
	return f
}

// foreignOccurrences counts the samples of a rate, and those that were not 0. Requests that
// have failed by their status count as such, whatever their sender says of them.
func foreignOccurrences(e *evidence, name string, selector []metric.Label) *foreignSamples {
	f := &foreignSamples{by: map[foreignSecond]*bounded{}}
	for _, c := range e.contributions(name+metric.RateTotal, metric.Counter, selector) {
		f.at(c).n += c.Value
	}
	for _, c := range e.contributions(name+metric.RateOccurred, metric.Counter, selector) {
		f.at(c).low += c.Value
	}
	if !metric.IsRequestFailed(name) {
		return f
	}
	seen := &foreignSamples{by: map[foreignSecond]*bounded{}}
	for _, c := range e.foreignRequests(metric.ProtocolOf(name), selector) {
		seen.at(c.contribution).add(c.Value, c.failed, 0)
	}
	for at, b := range seen.by {
		to := f.key(at)
		to.n, to.low = max(to.n, b.n), max(to.low, b.low)
	}
	f.lumped = f.lumped || seen.lumped
	return f
}

// foreignRequest are requests of another sender with one status.
type foreignRequest struct {
	contribution
	status string
	failed float64 // those that have failed by their status: all or none
}

// foreignRequests are the requests of a protocol that other senders count, by their status.
func (e *evidence) foreignRequests(of *metric.Protocol, selector []metric.Label) (all []foreignRequest) {
	expected := e.Plan.Profile.Expected()
	for _, c := range e.contributions(of.Requests, metric.Counter, selector) {
		r := foreignRequest{contribution: c, status: c.Series.Label("status")}
		if r.status != "" && of.Fails(r.status) && !expected.Has(of, r.status) {
			r.failed = c.Value
		}
		all = append(all, r)
	}
	return all
}

// foreignRate counts the violations of an SLO on a rate.
func foreignRate(e *evidence, s spec.SLO) *foreignSamples {
	f := foreignOccurrences(e, s.Metric, s.Selector)
	for _, b := range f.by {
		b.low = min(b.low, b.n)
		if s.AtLeast() {
			b.low = b.n - b.low
		}
		b.high = b.low
	}
	return f
}
