package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/record"
)

// buildSuffix ends the names of gauges whose labels describe a build of a program: a
// convention of the Prometheus client library and servers.
const buildSuffix = "_build_info"

// Limits of what is recorded, because a service may expose anything under such a name.
const (
	maxBuilds = record.MaxBuilds
	maxLabels = 16
	maxText   = 200 // bytes of the name of the metric or of a label, or of its value
)

// buildsIn returns the builds in an exposition.
func buildsIn(families scrape.Families) (all []record.Build) {
	for name, family := range families {
		if !strings.HasSuffix(name, buildSuffix) {
			continue
		}
		for _, m := range family.GetMetric() {
			b := record.Build{Metric: name, Labels: map[string]string{}}
			fits := len(name) <= maxText && len(m.GetLabel()) > 0 && len(m.GetLabel()) <= maxLabels
			for _, l := range m.GetLabel() {
				b.Labels[l.GetName()] = l.GetValue()
				fits = fits && max(len(l.GetName()), len(l.GetValue())) <= maxText
			}
			if fits {
				all = append(all, b)
			}
		}
	}
	return sorted(all)
}

// sorted returns the first builds by metric and labels, each once: one more than are recorded,
// if there are more.
func sorted(all []record.Build) []record.Build {
	slices.SortFunc(all, compareBuilds)
	all = slices.CompactFunc(all, func(a, b record.Build) bool { return compareBuilds(a, b) == 0 })
	return all[:min(len(all), maxBuilds+1)]
}

func compareBuilds(a, b record.Build) int {
	return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
}

// builds are what the instances reported that were read at the start.
type builds struct {
	all  []record.Build // sorted, each once; one more than are recorded if there are too many to tell
	each [][]string     // the metrics of each instance that reported any
}

func (b *builds) add(reported []record.Build) {
	b.all = sorted(slices.Concat(b.all, reported))
	var metrics []string
	for _, r := range reported {
		metrics = append(metrics, r.Metric)
	}
	if len(metrics) > 0 {
		b.each = append(b.each, metrics)
	}
}

// other reports whether an instance is none of these by what it reports: a build that none of
// them had, or not all of the metrics of any of them.
func (b builds) other(reported []record.Build) bool {
	metrics := map[string]bool{}
	for _, r := range reported {
		if _, found := slices.BinarySearchFunc(b.all, r, compareBuilds); !found {
			return true
		}
		metrics[r.Metric] = true
	}
	like := func(one []string) bool {
		return !slices.ContainsFunc(one, func(name string) bool { return !metrics[name] })
	}
	return len(b.all) > maxBuilds || len(b.each) > 0 && !slices.ContainsFunc(b.each, like)
}
