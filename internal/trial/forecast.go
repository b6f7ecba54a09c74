package trial

import (
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/forecast"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// forecastOf estimates, for each percentile and rate SLO of a profile, whether its plan
// has enough samples to decide it, from the last runs in the folder.
func forecastOf(p spec.Profile, workers int, scope, runs string) (_ []forecast.Forecast, err error) {
	defer foreign.Guard(&err)
	p = p.InScope(scope)
	pl, err := plan.New(p, workers, 1)
	if err != nil {
		return nil, err
	}
	return forecast.Each(p, pl, scope, pastRuns(runs, p.Name)), nil
}

// undecidable is why a plan cannot decide an SLO, and the remedy; empty if it can.
func undecidable(f forecast.Forecast) (why, remedy string) {
	if f.Decides {
		return "", ""
	}
	remedy = fmt.Sprintf("judge for %s, or raise the rate", f.Hold)
	if f.Basis == spec.Inferred {
		remedy = fmt.Sprintf(`judge for %s, raise the rate, or declare "basis": "counted"`, f.Hold)
	}
	if !f.LongEnough {
		return fmt.Sprintf("this plan is too short for %s: %s", f.SLO, f), remedy
	}
	return fmt.Sprintf("this plan has too few samples for %s (%s)", f.SLO, f), remedy
}

// maxPastRuns is how many of a profile's newest runs a forecast uses at most.
const maxPastRuns = 3

// maxPlausible bounds the statistics of earlier runs: anybody could have written their
// certificates.
const maxPlausible = 1e12

// pastRuns returns, by SLO, the sample statistics in the certificates of a profile's
// newest runs.
func pastRuns(folder, profile string) map[string]forecast.Past {
	samples := map[string][]certificate.SLO{}
	arrivals := map[string][]float64{}
	n := 0
	for data := range record.Documents(folder, issue.CertificateFile) {
		if n == maxPastRuns {
			break
		}
		c, err := certificate.Parse(data)
		if err != nil || c.Profile != profile || c.Verdict == verdict.Invalid.String() || c.Rate.Scheduled == nil {
			continue
		}
		n++
		for _, s := range c.SLOs {
			if s.Samples != nil && *s.Samples > 0 && s.Effective != nil {
				scheduled := c.Rate.Scheduled
				for _, f := range c.Flows {
					if f.Name == s.Flow && f.Rate.Scheduled != nil {
						scheduled = f.Rate.Scheduled
					}
				}
				name := s.Name()
				samples[name], arrivals[name] = append(samples[name], s), append(arrivals[name], float64(*scheduled))
			}
		}
	}
	past := map[string]forecast.Past{}
	for name, all := range samples {
		var perArrival, deff, needed, correlation []float64
		for i, s := range all {
			perArrival = append(perArrival, float64(*s.Samples)/max(1, arrivals[name][i]))
			deff, needed, correlation = appendKnown(deff, s.DesignEffect), appendKnown(needed, s.Needed), appendKnown(correlation, s.Correlation)
		}
		past[name] = forecast.Past{
			Runs: len(all), PerArrival: median(perArrival), DesignEffect: median(deff), Needed: median(needed), Correlation: median(correlation),
		}
	}
	return past
}

func appendKnown(all []float64, v *float64) []float64 {
	if v == nil || *v <= 0 || *v > maxPlausible {
		return all
	}
	return append(all, *v)
}

// median is the upper median; 0 for no values.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// longerHold is the hold that should decide what a run left undecided; false if the
// profile has stages, which have no hold.
func longerHold(p spec.Profile, found []forecast.Forecast) (time.Duration, bool) {
	longest := time.Duration(0)
	for _, f := range found {
		longest = max(longest, f.Hold)
	}
	if load := p.Flows[0].Load; longest == 0 { // enough samples, but the result was too close to the limit
		longest = 2 * max(load.Hold, load.HoldMax)
	}
	return longest, !p.HasStages()
}

// checkDecides is the name of the check that a plan has enough samples.
const checkDecides = "decides"

// Decisions are the forecasts of a profile as findings of the preflight.
func Decisions(p spec.Profile, workers int, scope, runs string) (all doctor.Findings, err error) {
	found, err := forecastOf(p, workers, scope, runs)
	for _, f := range found {
		finding := doctor.Finding{Check: checkDecides, Profile: p.Name, State: doctor.OK, Observed: f.SLO, Needed: f.String()}
		if why, remedy := undecidable(f); why != "" {
			finding.State, finding.Why, finding.Remedy = doctor.Warning, why, remedy
		}
		all = append(all, finding)
	}
	if why, remedy := tooShort(p); scope == spec.ScopeCertificate && why != "" {
		all = append(all, doctor.Finding{Check: checkDecides, Profile: p.Name, State: doctor.Lacking, Observed: "hold", Why: why, Remedy: remedy})
	}
	return all, err
}
