package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// buildsIn returns the builds in an exposition, sorted by metric and labels, each once;
// none if it is invalid, because this should not fail a run.
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
	return sorted(all)
}

// sorted returns the first builds by metric and labels, each once.
func sorted(all []record.Build) []record.Build {
	slices.SortFunc(all, compareBuilds)
	all = slices.CompactFunc(all, func(a, b record.Build) bool { return compareBuilds(a, b) == 0 })
	return all[:min(len(all), maxBuilds)]
}

func compareBuilds(a, b record.Build) int {
	return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
}

// builds are those that instances of the service reported. It is safe for concurrent use.
type builds struct {
	mu  sync.Mutex
	all []record.Build // sorted, each once
}

// add adds the builds of an instance, and reports whether there are others than before.
func (b *builds) add(reported []record.Build) (others bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.all)
	b.all = sorted(slices.Concat(b.all, reported))
	return len(b.all) > before
}

func (b *builds) get() []record.Build {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}
