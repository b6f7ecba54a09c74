package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/record"
)

// buildSuffix ends the name of gauges whose labels tell what a program was
// built from, as Prometheus's own client library and servers name them.
const buildSuffix = "_build_info"

// Bounds of what is recorded: a service may expose anything under such a name.
const (
	mostBuilds = 16
	mostLabels = 16
	longest    = 200 // bytes of a value
)

// buildsIn finds the builds in an exposition, sorted by metric and labels. What
// cannot be read is none: it is no reason to fail a run.
func buildsIn(exposition []byte) (all []record.Build) {
	families, err := scrape.Parse(exposition, func(family string) bool { return strings.HasSuffix(family, buildSuffix) })
	if err != nil {
		return nil
	}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			b := record.Build{Metric: name, Labels: map[string]string{}}
			fits := len(m.GetLabel()) > 0 && len(m.GetLabel()) <= mostLabels
			for _, l := range m.GetLabel() {
				b.Labels[l.GetName()] = l.GetValue()
				fits = fits && len(l.GetValue()) <= longest
			}
			if fits {
				all = append(all, b)
			}
		}
	}
	slices.SortFunc(all, func(a, b record.Build) int {
		return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
	})
	return all[:min(len(all), mostBuilds)]
}
