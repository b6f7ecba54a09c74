// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"slices"

	"assay.dev/assay/internal/mask"
)

// Descriptor describes a metric.
type Descriptor struct {
	Name    string
	Kind    Kind
	Unit    string   // UCUM, as in its Series; empty: a plain number
	Sources []string // sources that send the metric; SLOs read it from the first
	Labels  []string // labels that its series may have
	Text    string   // what it measures, in one line

	Protocol *Protocol // whose requests it measures; nil: none

	// SLO holds an example condition for each aggregate that an SLO on the metric may
	// use, like "p(95)<250"; empty: no SLO may name it.
	SLO []string
	// Key is the key that the profile must hold for the metric to be read; empty: none.
	Key string
	// Advice is the next step if an SLO on it has no data; empty: check its name.
	Advice string
	// Abort is an example of a condition on it that stops a run, like "max>200 for 10s", and
	// Protects what that protects, like "the database". Empty: none may name it. Every rate
	// of the load may be named too, which protects the target.
	Abort, Protects string
	// View is the InfluxDB measurement and field that store it unchanged, like
	// "service.queries"; empty: it is stored in another form, or not at all.
	View string
}

// From reports whether a source sends the metric.
func (d Descriptor) From(source string) bool { return slices.Contains(d.Sources, source) }

// InFrames reports whether frames hold the metric. The others are facts about the run.
func (d Descriptor) InFrames() bool {
	return slices.ContainsFunc(d.Sources, func(source string) bool {
		return source != SourceLedger && source != SourceCoordinator && source != SourceStages
	})
}

// JudgedBySecond reports whether an SLO on the metric is decided by its values, one per
// second: it is a gauge that an SLO may name.
func (d Descriptor) JudgedBySecond() bool { return d.Kind == Gauge && len(d.SLO) > 0 }

var byName = func() map[string]Descriptor {
	all := make(map[string]Descriptor, len(catalogue))
	for _, d := range catalogue {
		if _, ok := all[d.Name]; ok {
			panic("metric " + d.Name + " is in the catalogue twice")
		}
		all[d.Name] = d
		mask.Keep(d.Name, d.Name+RateTotal, d.Name+RateOccurred)
		mask.Keep(d.Labels...)
	}
	mask.Keep(k6Condition, k6NonZero, k6Zero, attrInstance, OverflowLabel)
	return all
}()

// Find returns the catalogue's entry for a name: one of our metrics or of k6's, not one
// that a script registers.
func Find(name string) (Descriptor, bool) {
	d, ok := byName[name]
	return d, ok
}

// Catalogue lists the metrics for which keep holds, in the order of the catalogue.
func Catalogue(keep func(Descriptor) bool) (all []Descriptor) {
	for _, d := range catalogue {
		if keep(d) {
			all = append(all, d)
		}
	}
	return all
}

// Of makes a series of a metric of the catalogue, in its unit, with labels as for
// NewSeries. It panics if the catalogue does not have the name.
func Of(name string, keyValues ...string) Series {
	d, ok := byName[name]
	if !ok {
		panic(fmt.Sprintf("metric %s is not in the catalogue", name))
	}
	return NewSeries(name, d.Unit, keyValues...)
}
