// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// samples: each inferred condition has enough effective samples to pass, and each
// counted condition allows enough violations to be decided; otherwise the run is
// INCONCLUSIVE.
func samples(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Limit: new(1.0), Detail: "no SLO depends on the number of samples"}}
	var scarce []string
	for _, s := range p.slos {
		if s.Effective == nil {
			continue
		}
		share, text := s.enough()
		if r.Observed == nil || share < *r.Observed {
			r.Observed = &share
			r.Detail = fmt.Sprintf("fewest samples: %s has %s", s.Name(), text)
		}
		if s.Outcome == Inconclusive && share < 1 {
			scarce = append(scarce, s.Name()+" has "+text)
		}
	}
	if len(scarce) > 0 {
		r.Outcome, r.Detail = Inconclusive, joinFirst(scarce, 3)
	}
	return r
}

// Name is the condition as the certificate names it.
func (s SLO) Name() string { return spec.NameOf(s.Flow, s.Metric+" "+s.Expression) }

// enough is the share of the samples needed that a condition has, by its basis.
func (s SLO) enough() (share float64, text string) {
	if s.Basis == spec.Inferred {
		return *s.Effective / *s.Needed, s.effective()
	}
	return float64(*s.Allowed) / stats.MinAllowed,
		fmt.Sprintf("%d samples, of which %d may violate it; a decision needs at least %d", *s.Samples, *s.Allowed, stats.MinAllowed)
}

// effective is "412 effective samples of the 920 needed (6000 samples, design
// effect 14.6)".
func (s SLO) effective() string {
	if s.DesignEffect == nil {
		return fmt.Sprintf("%d samples in too few seconds to estimate their design effect; %.0f effective samples are needed", *s.Samples, *s.Needed)
	}
	return fmt.Sprintf("%.0f effective samples of the %.0f needed (%d samples, design effect %s)",
		*s.Effective, *s.Needed, *s.Samples, number(*s.DesignEffect))
}

// perClass: an SLO holds for each class of its samples. A class over its limit that is not
// significantly so is a limitation by its name. So are SLOs for which there were too many classes
// to be recorded separately.
func perClass(p *part) Rule {
	r := Rule{Rule: certificate.Rule{
		Observed: new(0.0),
		Limit:    new(0.0),
		Detail:   "no SLO covers several endpoints, groups, checks or other classes",
	}}
	var broken, over, perhaps []string
	for _, c := range p.classes {
		switch {
		case c.outcome == Fail:
			broken = append(broken, c.String())
		case c.over:
			over = append(over, c.String())
		case c.perhaps:
			perhaps = append(perhaps, c.slo.MetricText()+" "+c.slo.Expression)
		}
	}
	if len(p.classes) > 0 {
		r.Detail = fmt.Sprintf("none of %d conditions on single classes is broken", len(p.classes))
	}
	var limits []string
	if len(over) > 0 {
		limits = append(limits, "over the limit for a single class, but not significantly: "+joinFirst(over, 3))
	}
	if len(perhaps) > 0 {
		limits = append(limits, "perhaps over the limit for a single class, which is measured too coarsely to tell: "+joinFirst(perhaps, 3))
	}
	var pooled []string
	for _, s := range pooledOnly(p.evidence) {
		pooled = append(pooled, s.MetricText()+" "+s.Expression)
	}
	if len(pooled) > 0 {
		limits = append(limits, fmt.Sprintf("classes beyond the first %d are judged only all together: %s", metric.MaxSeries, joinFirst(pooled, 3)))
		r.Advice = "Give requests whose URLs differ only by an id the same name (the tag name, or http.url)."
	}
	r.Limitation = strings.Join(limits, "; ")
	if len(broken) > 0 {
		*r.Observed, r.Outcome, r.Limitation = float64(len(broken)), Fail, ""
		r.Detail = "broken for a single class: " + joinFirst(broken, 3)
	}
	return r
}

// pooledOnly are the SLOs with more classes of samples than are recorded separately.
func pooledOnly(e *evidence) (all []spec.SLO) {
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if s.Kind() != spec.KindSamples || s.Aggregate == spec.Max || len(classLabels(e, s)) == 0 {
			continue
		}
		whole := s
		whole.Selector = nil // series beyond the limit have lost their labels
		if slices.ContainsFunc(seriesOfSLO(e, whole), func(of metric.Series) bool { return overflowOf(of) != "" }) {
			all = append(all, s)
		}
	}
	return all
}
