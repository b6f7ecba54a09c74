package metric

import (
	"fmt"
	"slices"
)

// Descriptor is what is known of a metric before it is measured.
type Descriptor struct {
	Name    string
	Kind    Kind
	Unit    string   // UCUM, as in its Series; empty: a plain number
	Sources []string // who sends it, the first of them is where an SLO reads it
	Labels  []string // that its series may have
	Text    string   // what it measures, in one line

	// SLO are examples of the conditions that an SLO on it may state, one for each
	// aggregate, like "p(95)<250"; none: no SLO may name it.
	SLO []string
	// Key of the profile that says where it is read; empty: nothing has to say it.
	Key string
	// Advice is what to do where an SLO on it has no data; empty: check its name.
	Advice string
	// View is the measurement and field of InfluxDB that show it as it is measured,
	// like "service.queries"; empty: it is shown in another form, or not at all.
	View string
}

// From reports whether a source sends the metric.
func (d Descriptor) From(source string) bool { return slices.Contains(d.Sources, source) }

// JudgedBySecond reports whether an SLO on the metric is decided by its readings,
// one a second: a gauge that an SLO may name.
func (d Descriptor) JudgedBySecond() bool { return d.Kind == Gauge && len(d.SLO) > 0 }

var byName = func() map[string]Descriptor {
	all := make(map[string]Descriptor, len(catalogue))
	for _, d := range catalogue {
		if _, ok := all[d.Name]; ok {
			panic("metric " + d.Name + " stands in the catalogue twice")
		}
		all[d.Name] = d
	}
	return all
}()

// Find is the catalogue's entry of a name: ours and k6's, none of a script's.
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

// Of is a series of a metric of the catalogue, in its unit, with labels as for
// NewSeries. A name that the catalogue does not have is a mistake in the program.
func Of(name string, keyValues ...string) Series {
	d, ok := byName[name]
	if !ok {
		panic(fmt.Sprintf("metric %s is not in the catalogue", name))
	}
	return NewSeries(name, d.Unit, keyValues...)
}
