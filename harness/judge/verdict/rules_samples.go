package verdict

import (
	"fmt"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// samples: each condition that a test decides has enough effective samples to
// pass; with fewer the run cannot tell.
func samples(e *evidence) Rule {
	r := Rule{
		Limit: pointer(1.0), Unit: "share of the samples needed",
		Outcome: Pass,
		Detail:  "no SLO is decided by a test",
		Advice:  "Hold longer, at a higher rate, or ask for a lower percentile; latency that comes in bursts takes more samples.",
	}
	var scarce []string
	for _, s := range e.slos {
		if s.Effective == nil {
			continue
		}
		share := *s.Effective / *s.Needed
		if r.Observed == nil || share < *r.Observed {
			r.Observed = &share
			r.Detail = fmt.Sprintf("%s has the fewest: %s", s.Metric+" "+s.Expression, s.effective())
		}
		if s.Outcome == Inconclusive && share < 1 {
			scarce = append(scarce, fmt.Sprintf("%s %s has %s", s.Metric, s.Expression, s.effective()))
		}
	}
	if len(scarce) > 0 {
		r.Outcome = Inconclusive
		r.Detail = some(scarce, 3)
	}
	return r
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
// by itself. A fast and frequent one must not hide another. What is too rare to
// tell by itself is a limitation.
func perClass(e *evidence) Rule {
	r := Rule{
		Observed: pointer(0.0), Limit: pointer(0.0), Unit: "endpoints",
		Outcome: Pass,
		Detail:  "no SLO takes several endpoints together",
		Advice:  "See to the endpoint that breaks the SLO, or give it an SLO of its own.",
	}
	var broken, rare []string
	checked := 0
	for _, s := range e.Plan.Profile.SLOs {
		if s.Metric != requestDuration && s.Metric != requestFailed || s.Aggregate == spec.Max {
			continue
		}
		for _, of := range e.classes(s) {
			judged := judgeClass(e, of)
			if judged.Samples == nil && judged.Outcome == Invalid {
				continue // it has no data
			}
			checked++
			switch judged.Outcome {
			case Fail:
				broken = append(broken, of.MetricText()+" "+of.Expression)
			case Inconclusive:
				rare = append(rare, of.MetricText()+" "+of.Expression)
			}
		}
	}
	if checked > 0 {
		r.Detail = fmt.Sprintf("%d conditions on single endpoints are not broken", checked)
	}
	if len(rare) > 0 {
		r.Limitation = "not decided for the endpoint by itself: " + some(rare, 3)
	}
	if len(broken) > 0 {
		*r.Observed, r.Outcome, r.Limitation = float64(len(broken)), Fail, ""
		r.Detail = "broken for the endpoint by itself: " + some(broken, 3)
	}
	return r
}

// classes are the SLO for each endpoint that it takes together with others.
func (e *evidence) classes(s spec.SLO) (all []spec.SLO) {
	names := map[string]bool{}
	for _, l := range s.Selector {
		if l.Key == "name" {
			return nil
		}
	}
	for _, series := range e.Timeline.Series(requestDuration) {
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

func judgeClass(e *evidence, s spec.SLO) SLO {
	if s.Aggregate == spec.Rate {
		return judgeRate(e, s)
	}
	out := newSLO(s, "ms")
	d := e.distribution(s.Metric, s.Selector)
	least, most := violations(e, s, d)
	if stats.Sum(most).N > 0 {
		out.test(allowedShare(s), least, most, d)
	}
	return out
}
