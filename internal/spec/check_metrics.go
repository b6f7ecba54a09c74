// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// CheckMetrics checks the SLOs and aborts against the metrics that exist once
// the script has initialised: k6's, ours, and those registered, whose type is
// "trend", "rate", "counter" or "gauge". Only then can a misspelt name be
// distinguished from a script's own metric. The error is of type Errors: name
// conflicts of the script's metrics first, then the others in the order of the file.
func (p Profile) CheckMetrics(registered map[string]string) error {
	known := map[string]metric.Descriptor{}
	for _, d := range metric.Catalogue(func(metric.Descriptor) bool { return true }) {
		if _, ok := builtin(d.Name); ok {
			known[d.Name] = d
		}
	}
	var all Errors
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		if problem := p.nameConflict(name, registered[name]); problem != "" {
			all = append(all, &Error{Place: p.place("scenario"), Problem: "the script registers " + quote(name) + problem, Next: "rename the script's metric"})
		} else if _, ok := known[name]; !ok {
			known[name] = scriptMetric(name, registered[name])
		}
	}
	if all = append(all, p.mismatches(known)...); len(all) > 0 {
		return all
	}
	return nil
}

// nameConflict says why a script may not register a metric; empty if it may.
func (p Profile) nameConflict(name, typ string) (problem string) {
	switch d, known := metric.Find(name); {
	case known && d.InFrames() && (!d.From(metric.SourceK6) || d.From(metric.SourceWorker)): // also if a collector sends it: frames of all sources are summed
		return ", which is a metric of Assay"
	case d.From(metric.SourceK6) && kindWord(d.Kind) != typ:
		return fmt.Sprintf(" as a %s, but in k6 it is a %s", typ, kindWord(d.Kind))
	case slices.ContainsFunc(p.Abort, func(a Abort) bool { return !a.OfLoad() && a.Reads() == name }):
		return ", and the profile's abort takes that for a metric of Assay"
	}
	return ""
}

// mismatches are the SLOs and aborts whose metric does not exist or has another
// kind, in the order of the file. A problem of a metric is reported once, however
// many conditions there are on it.
func (p Profile) mismatches(known map[string]metric.Descriptor) (all Errors) {
	reported := map[string]bool{}
	report := func(metric string, at Position, e Error) {
		if key := metric + "\n" + e.Problem; !reported[key] {
			reported[key] = true
			e.Path, e.Line, e.offset = at.Path, at.Line, at.offset
			all = append(all, &e)
		}
	}
	for _, s := range p.AllSLOs() {
		place := []string{"slo"}
		if s.Flow != "" {
			place = []string{"flows", s.Flow, "slo"}
		}
		if d, ok := known[s.Metric]; !ok {
			report(s.MetricText(), s.At, p.unknownMetric(s.Metric, place, known, func(d metric.Descriptor) bool { return len(d.SLO) > 0 }))
		} else if problem := s.mismatch(d, true); problem != "" {
			report(s.MetricText(), s.At, Error{Place: p.place(append(place, s.MetricText())...), Problem: problem})
		}
	}
	nameable := maps.Clone(known) // in an abort
	for _, name := range abortable() {
		nameable[name], _ = metric.Find(name)
	}
	for _, a := range p.Abort {
		if d, ok := known[a.Metric]; !a.OfLoad() {
			continue
		} else if !ok {
			report("abort", a.At, p.unknownMetric(a.Metric, []string{"abort"}, nameable, func(d metric.Descriptor) bool { return d.Kind == metric.Rate || d.Abort != "" }))
		} else if d.Kind != metric.Rate {
			report("abort", a.At, Error{Place: p.place("abort"), Problem: fmt.Sprintf("%s is a %s: an abort takes a rate", a.Metric, kindWord(d.Kind))})
		}
	}
	all.sort()
	return all
}

// unknownMetric is the error for an unknown metric; it suggests the nearest of those
// that fit.
func (p Profile) unknownMetric(name string, place []string, known map[string]metric.Descriptor, fit func(metric.Descriptor) bool) Error {
	fitting := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return !fit(known[n]) })
	return Error{
		Place: p.place(place...), Problem: unknown("metric", name, fitting),
		Next: fmt.Sprintf("metrics known once %s has initialised: %s", p.scripts(), strings.Join(fitting, ", ")),
	}
}

// scripts names the profile's scripts.
func (p Profile) scripts() string {
	var all []string
	for _, f := range p.Flows {
		if !slices.Contains(all, f.Scenario) {
			all = append(all, f.Scenario)
		}
	}
	return strings.Join(all, " and ")
}
