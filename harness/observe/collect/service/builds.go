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

// buildsIn returns the builds in an exposition, sorted by metric and labels; none if it is
// invalid, because this should not fail a run.
func buildsIn(exposition []byte) (all []record.Build) {
	families, err := scrape.Parse(exposition, func(family string) bool { return strings.HasSuffix(family, buildSuffix) })
	if err != nil {
		return nil
	}
	for name, family := range families {
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
	slices.SortFunc(all, func(a, b record.Build) int {
		return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
	})
	return all[:min(len(all), maxBuilds)]
}
