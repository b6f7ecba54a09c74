package verdict

import (
	"fmt"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// samples: each condition that the inferred test decides has enough effective
// samples to pass, and each that is counted may have enough violations; with fewer
// the run cannot tell.
func samples(e *evidence) Rule {
	r := Rule{
		Limit: pointer(1.0), Unit: "share of the samples needed",
		Outcome: Pass,
		Detail:  "no SLO is decided by a number of samples",
		Advice:  "Hold longer, at a higher rate, or ask for a lower percentile.",
	}
	var scarce []string
	for _, s := range e.slos {
		if s.Effective == nil {
			continue
		}
		share, text := s.enough()
		if r.Observed == nil || share < *r.Observed {
			r.Observed = &share
			r.Detail = fmt.Sprintf("%s has the fewest: %s", s.name(), text)
		}
		if s.Outcome == Inconclusive && share < 1 {
			scarce = append(scarce, s.name()+" has "+text)
		}
	}
	if len(scarce) > 0 {
		r.Outcome = Inconclusive
		r.Detail = some(scarce, 3)
	}
	return r
}

// name is the condition as the certificate names it.
func (s SLO) name() string { return s.Metric + " " + s.Expression }

// enough is the share of the samples needed that a condition has, by its basis.
func (s SLO) enough() (share float64, text string) {
	if s.Basis == spec.Inferred {
		return *s.Effective / *s.Needed, s.effective()
	}
	return float64(*s.Allowed) / stats.LeastAllowed,
		fmt.Sprintf("%d samples, of which %d may violate it; a count takes %d", *s.Samples, *s.Allowed, stats.LeastAllowed)
}

// effective is "412 effective samples of the 920 needed (6000 samples, design
// effect 14.6)".
func (s SLO) effective() string {
	if s.DesignEffect == nil {
		return fmt.Sprintf("%d samples in too few seconds to tell how many of them count; %.0f effective ones are needed", *s.Samples, *s.Needed)
	}
	return fmt.Sprintf("%.0f effective samples of the %.0f needed (%d samples, design effect %s)",
		*s.Effective, *s.Needed, *s.Samples, number(*s.DesignEffect))
}

// perClass: an SLO on the requests of several endpoints holds for each of them
// by itself. One over its share that does not fail, as it is too rare to tell or
// too close, is a limitation by its name; and where there were too many names to
// keep apart, that is one too.
func perClass(e *evidence) Rule {
	r := Rule{
		Observed: pointer(0.0), Limit: pointer(0.0), Unit: "endpoints",
		Outcome: Pass,
		Detail:  "no SLO takes several endpoints together",
		Advice:  "See to the endpoint that breaks the SLO, or give it an SLO of its own.",
	}
	var broken, over []string
	for _, c := range e.classes {
		text := c.slo.MetricText() + " " + c.slo.Expression
		switch {
		case c.outcome == Fail:
			broken = append(broken, text)
		case c.over:
			over = append(over, text)
		}
	}
	if len(e.classes) > 0 {
		r.Detail = fmt.Sprintf("%d conditions on single endpoints are not broken", len(e.classes))
	}
	if len(over) > 0 {
		r.Limitation = "over its share by itself, though not surely: " + some(over, 3)
	}
	if pooled := e.pooledOnly(); len(pooled) > 0 {
		text := fmt.Sprintf("more endpoints than the %d that are kept apart: %s judged over all of them together only", metric.MaxSeries, some(pooled, 3))
		if r.Limitation != "" {
			text = r.Limitation + "; " + text
		}
		r.Limitation = text
		r.Advice = "Give requests that differ by an identity one name (the tag name, or http.url)."
	}
	if len(broken) > 0 {
		*r.Observed, r.Outcome, r.Limitation = float64(len(broken)), Fail, ""
		r.Detail = "broken for the endpoint by itself: " + some(broken, 3)
	}
	return r
}

// pooledOnly are the SLOs that take endpoints together whose names were too many.
func (e *evidence) pooledOnly() (all []string) {
	overflowed := slices.ContainsFunc(e.Timeline.Series(metric.RequestDuration), func(s metric.Series) bool {
		return s.Label(metric.OverflowLabel) != ""
	})
	for _, s := range e.Plan.Profile.SLOs {
		named := slices.ContainsFunc(s.Selector, func(l metric.Label) bool { return l.Key == "name" })
		if overflowed && !named && (s.Metric == metric.RequestDuration || s.Metric == metric.RequestFailed) {
			all = append(all, s.MetricText()+" "+s.Expression)
		}
	}
	return all
}
