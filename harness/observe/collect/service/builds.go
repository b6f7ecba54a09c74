package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/record"
)

// buildSuffix ends the names of gauges whose labels describe a build of a program: a
// convention of the Prometheus client library and servers.
const buildSuffix = "_build_info"

// Limits of what is recorded, because a service may expose anything under such a name.
const (
	maxBuilds = 16
	maxLabels = 16
	maxValue  = 200 // bytes of a label's value
)

// buildsIn returns the builds in an exposition.
func buildsIn(families scrape.Families) (all []record.Build) {
	for name, family := range families {
		if !strings.HasSuffix(name, buildSuffix) {
			continue
		}
		for _, m := range family.GetMetric() {
			b := record.Build{Metric: name, Labels: map[string]string{}}
			fits := len(m.GetLabel()) > 0 && len(m.GetLabel()) <= maxLabels
			for _, l := range m.GetLabel() {
				b.Labels[l.GetName()] = l.GetValue()
				fits = fits && len(l.GetValue()) <= maxValue
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

// differ reports whether an instance is another than those that were read at the start, by what
// it reports: a build that none of them had, none of a metric that they have, or too many to
// tell.
func differ(known, reported []record.Build) bool {
	missing := map[string]bool{}
	for _, b := range known {
		missing[b.Metric] = true
	}
	for _, b := range reported {
		if _, found := slices.BinarySearchFunc(known, b, compareBuilds); !found {
			return true
		}
		delete(missing, b.Metric)
	}
	return len(missing) > 0 || len(known) > maxBuilds
}
