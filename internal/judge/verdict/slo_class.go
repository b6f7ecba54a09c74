// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// class is one endpoint of an SLO on several endpoints.
type class struct {
	slo     spec.SLO // with the endpoint's name in its selector
	p       float64  // probability of at least this many violations, were the endpoint exactly at its limit
	over    bool     // more violations than the endpoint's own samples allow
	perhaps bool     // likewise, if all those count that other senders' buckets or intervals leave open
	outcome Outcome  // Fail, or 0
	alone   bool     // by the samples of the workers alone
}

// of is the evidence by which the class was judged.
func (c class) of(e *evidence) *evidence {
	if c.alone {
		return e.workersAlone()
	}
	return e
}

// judgeClasses judges each endpoint by itself: a fast and frequent one must not hide
// another. As there may be a thousand, an endpoint fails only after Holm's correction
// over all endpoints of the SLO (docs/rulebook.md).
func judgeClasses(e *evidence) (all []class) {
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if metric.JudgesEndpoints(s.Metric) == nil || s.Aggregate == spec.Max {
			continue
		}
		classes := judgeEndpoints(e, s)
		if e.diluted(s) {
			for _, alone := range judgeEndpoints(e.workersAlone(), s) {
				i := slices.IndexFunc(classes, func(c class) bool { return c.slo.MetricText() == alone.slo.MetricText() })
				if with := classes[i]; alone.outcome > with.outcome || alone.outcome == with.outcome && (alone.over && !with.over || alone.perhaps && !with.perhaps) {
					alone.alone = true
					classes[i] = alone
				}
			}
		}
		all = append(all, classes...)
	}
	return all
}

// judgeEndpoints judges each endpoint of an SLO. Those that are broken at stats.Alpha, adjusted
// for their number, fail.
func judgeEndpoints(e *evidence, s spec.SLO) (classes []class) {
	var ps []*float64
	for _, endpoint := range endpoints(e, s) {
		if c, ok := judgeClass(e, endpoint); ok {
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

// judgeClass computes p of an endpoint. It is false where the endpoint has no sample.
func judgeClass(e *evidence, s spec.SLO) (class, bool) {
	c := class{slo: s, p: 1}
	v := violationsOf(e, s)
	counted := withoutDisplaced(e, v.cleared)
	total, most, q := stats.Sum(counted), stats.Sum(v.possible), s.AllowedShare()
	if most.N == 0 {
		return c, false
	}
	allowed := float64(stats.Allowed(q, int64(most.N)))
	c.over, c.perhaps = most.K-v.doubt > allowed, most.K > allowed
	if !c.perhaps {
		return c, true // needs no test, like most of a thousand endpoints
	}
	switch {
	case total.K == 0:
	case q <= 0:
		c.p = 0
	case total.K >= total.N:
		c.p = stats.AtLeast(total.N, total.N, q)
	default:
		deff := stats.Test{Q: q, Alpha: stats.Alpha}.Infer(counted, v.series.countLargest).DesignEffect
		if finite(deff) {
			c.p = stats.AtLeast(total.N/deff, total.K/deff, q)
		}
	}
	return c, true
}

// endpoints splits an SLO on several endpoints into one for each; nil where it selects
// a name, or where there is only one endpoint.
func endpoints(e *evidence, s spec.SLO) (all []spec.SLO) {
	if selectsName(s) {
		return nil
	}
	for _, name := range endpointNames(e, metric.JudgesEndpoints(s.Metric), s.Selector) {
		if name != "" {
			endpoint := s
			endpoint.Selector = append([]metric.Label{{Key: "name", Value: name}}, s.Selector...)
			all = append(all, endpoint)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// selectsName reports whether an SLO is on one endpoint.
func selectsName(s spec.SLO) bool {
	return slices.ContainsFunc(s.Selector, func(l metric.Label) bool { return l.Key == "name" })
}

// endpointNames are the names of a protocol's requests, each once; empty: some have none.
func endpointNames(e *evidence, of *metric.Protocol, selector []metric.Label) (names []string) {
	seen := map[string]bool{}
	for _, s := range e.seriesOf(of.Duration()) {
		if name := s.Label("name"); s.Matches(selector) && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
