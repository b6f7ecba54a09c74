package verdict

import (
	"cmp"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// class is one endpoint of an SLO that takes several together.
type class struct {
	slo     spec.SLO // with the endpoint's name in its selector
	chance  float64  // of as many violations as this, were the endpoint exactly at its limit
	over    bool     // it has more than its own share of violations
	outcome Outcome  // Fail, or 0
}

// judgeClasses judges each endpoint by itself: a fast and frequent one must not
// hide another. As there may be a thousand, an endpoint fails only where it is
// broken by Holm's correction over all of an SLO's (RULEBOOK section 2b).
func judgeClasses(e *evidence) (all []class) {
	for _, s := range e.Plan.Profile.SLOs {
		if s.Metric != metric.RequestDuration && s.Metric != metric.RequestFailed || s.Aggregate == spec.Max {
			continue
		}
		var of []class
		for _, each := range e.endpoints(s) {
			if c, ok := e.judgeClass(each); ok {
				of = append(of, c)
			}
		}
		holm(of)
		all = append(all, of...)
	}
	return all
}

// holm fails what is broken at stats.Alpha, the smallest chance first: of m
// endpoints the i-th is broken where its chance is at most Alpha / (m - i), i from
// 0, and so are all before it (Holm 1979).
func holm(of []class) {
	order := make([]*class, len(of))
	for i := range of {
		order[i] = &of[i]
	}
	slices.SortStableFunc(order, func(a, b *class) int { return cmp.Compare(a.chance, b.chance) })
	for i, c := range order {
		if c.chance > stats.Alpha/float64(len(order)-i) {
			return
		}
		c.outcome = Fail
	}
}

// judgeClass finds by what chance an endpoint at its limit would have so many
// violations. It is false where the endpoint has no sample.
func (e *evidence) judgeClass(s spec.SLO) (class, bool) {
	c := class{slo: s, chance: 1}
	var v violations
	if s.Aggregate == spec.Rate {
		v = e.ratesOf(s)
	} else {
		v = e.violationsOf(s, e.distribution(s.Metric, s.Selector))
	}
	counted := e.undisturbed(v.cleared)
	total, most, q := stats.Sum(counted), stats.Sum(v.most), allowedShare(s)
	if most.N == 0 {
		return c, false
	}
	if c.over = most.K > float64(stats.Allowed(q, int64(most.N))); !c.over {
		return c, true // most of a thousand are, and need no test
	}
	switch {
	case total.K == 0:
	case q <= 0:
		c.chance = 0
	case total.K >= total.N:
		c.chance = stats.AtLeast(total.N, total.N, q)
	default:
		deff := stats.Test{Q: q, Alpha: stats.Alpha}.Infer(counted, v.series.above).DesignEffect
		if finite(deff) {
			c.chance = stats.AtLeast(total.N/deff, total.K/deff, q)
		}
	}
	return c, true
}

// endpoints are the SLO for each endpoint that it takes together with others.
func (e *evidence) endpoints(s spec.SLO) (all []spec.SLO) {
	names := map[string]bool{}
	for _, l := range s.Selector {
		if l.Key == "name" {
			return nil
		}
	}
	for _, series := range e.Timeline.Series(metric.RequestDuration) {
		if name := series.Label("name"); name != "" && series.Matches(s.Selector) && !names[name] {
			names[name] = true
			of := s
			of.Selector = append([]metric.Label{{Key: "name", Value: name}}, s.Selector...)
			all = append(all, of)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}
