package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/harness/doctor"
	"assay/harness/judge/certificate"
	"assay/harness/judge/forecast"
	"assay/harness/judge/verdict"
	"assay/harness/plan"
	"assay/harness/spec"
)

// checkDecides is the check of what a plan can decide, which is no part of what a
// machine or a database lacks.
const checkDecides = "decides"

// forecasts are what the plan of a profile can decide, by what its last runs gave.
func (f *certifyFlags) forecasts(p spec.Profile) ([]forecast.Forecast, error) {
	pl, err := plan.New(p, f.workers, 1)
	if err != nil {
		return nil, err
	}
	return forecast.Of(p, pl, f.scopeOf(p), lastRuns(f.runs, p.Name)), nil
}

// decides are the forecasts of a profile as findings.
func (f *certifyFlags) decides(p spec.Profile) (all doctor.Findings, err error) {
	found, err := f.forecasts(p)
	for _, c := range found {
		one := doctor.Finding{Check: checkDecides, Profile: p.Name, State: doctor.OK, Observed: c.SLO, Needed: c.String()}
		if why, remedy := undecidable(c); why != "" {
			one.State, one.Why, one.Remedy = doctor.Warning, why, remedy
		}
		all = append(all, one)
	}
	return all, err
}

// undecidable says why a plan cannot let an SLO pass, and what would do; empty where
// it can.
func undecidable(c forecast.Forecast) (why, remedy string) {
	if c.Decides {
		return "", ""
	}
	return fmt.Sprintf("this plan cannot let %s pass (%s)", c.SLO, c),
		fmt.Sprintf(`hold for %s, raise the rate, or declare "basis": "counted"`, c.Hold)
}

// lastRuns is what the newest runs of a profile gave for each of its SLOs, by their
// certificates.
func lastRuns(folder, profile string) map[string]forecast.Past {
	const most = 3
	folders, _ := os.ReadDir(folder) // there have been none yet
	samples := map[string][]certificate.SLO{}
	arrivals := map[string][]float64{}
	for i, n := len(folders)-1, 0; i >= 0 && n < most; i-- { // their names begin with their time
		if folders[i].Type()&os.ModeSymlink != 0 {
			continue
		}
		var c certificate.Certificate
		data, err := os.ReadFile(filepath.Join(folder, folders[i].Name(), "certificate.json"))
		if err != nil || json.Unmarshal(data, &c) != nil || c.Profile != profile || c.Verdict == verdict.Invalid.String() || c.Rate.Scheduled == nil {
			continue
		}
		n++
		for _, s := range c.SLOs {
			if s.Samples != nil && s.Effective != nil {
				name := s.Metric + " " + s.Expression
				samples[name], arrivals[name] = append(samples[name], s), append(arrivals[name], float64(*c.Rate.Scheduled))
			}
		}
	}
	past := map[string]forecast.Past{}
	for name, all := range samples {
		p := forecast.Past{Runs: len(all)}
		var per, deff, needed, correlation []float64
		for i, s := range all {
			per = append(per, float64(*s.Samples)/max(1, arrivals[name][i]))
			deff, needed, correlation = known(deff, s.DesignEffect), known(needed, s.Needed), known(correlation, s.Correlation)
		}
		p.PerArrival, p.DesignEffect, p.Needed, p.Correlation = median(per), median(deff), median(needed), median(correlation)
		past[name] = p
	}
	return past
}

func known(all []float64, v *float64) []float64 {
	if v == nil {
		return all
	}
	return append(all, *v)
}

// median is the middle value; 0 of none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// longerHold is the hold that would decide what a run left undecided; false where
// no hold does, or the profile has none.
func longerHold(p spec.Profile, found []forecast.Forecast) (time.Duration, bool) {
	longest := time.Duration(0)
	for _, f := range found {
		longest = max(longest, f.Hold)
	}
	if longest == 0 { // it has enough, and was too close: twice as much decides more
		longest = 2 * max(p.Load.Hold, p.Load.HoldMax)
	}
	return longest, len(p.Load.Stages) == 0
}
