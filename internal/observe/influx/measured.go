package influx

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// column is a metric that a field of a measurement stores unchanged.
type column struct {
	metric.Descriptor
	field string
}

// measurements are the columns of the catalogue, by measurement and grouped by their
// labels, which become the tags of a point.
var measurements = func() map[string][][]column {
	all := map[string][][]column{}
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.View != "" }) {
		measurement, field, _ := strings.Cut(d.View, ".")
		groups, c := all[measurement], column{d, field}
		i := slices.IndexFunc(groups, func(g []column) bool { return slices.Equal(g[0].Labels, d.Labels) })
		if i < 0 {
			all[measurement] = append(groups, []column{c})
		} else {
			groups[i] = append(groups[i], c)
		}
	}
	return all
}()

// scenarioLabel is a label of what is measured by flow. The points of a flow without a name
// have the name of its script as that tag instead.
const scenarioLabel = "scenario"

// measured makes the points of a measurement: one for each combination of label values
// of any column.
func (s *second) measured(measurement string) {
	for _, columns := range measurements[measurement] {
		done := map[string]bool{}
		for _, c := range columns {
			keys := c.Labels
			if !s.Plan.Profile.Named() {
				keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == scenarioLabel })
			}
			for _, labels := range s.groups(c.Name, keys...) {
				if id := fmt.Sprint(labels); !done[id] {
					done[id] = true
					s.row(measurement, columns, labels)
				}
			}
		}
	}
}

// row makes one point. A sum of times without labels is also stored per transaction;
// with labels it belongs to one part of the host.
func (s *second) row(measurement string, columns []column, labels []metric.Label) {
	var f fields
	for _, c := range columns {
		v, ok := s.value(c.Descriptor, labels)
		f.add(c.field, v, ok)
		if c.Kind == metric.Counter && c.Unit == "ms" && len(c.Labels) == 0 {
			f.ratio(c.field+"_per_transaction", v, s.started(), ok)
		}
	}
	// What is of no flow is of the whole load, which point names.
	ofNone := func(l metric.Label) bool { return l.Key == scenarioLabel && l.Value == "" }
	s.add(measurement, f, tagsOf(slices.DeleteFunc(slices.Clone(labels), ofNone))...)
}

// value is the value of a counter or a gauge in the second.
func (s *second) value(d metric.Descriptor, labels []metric.Label) (float64, bool) {
	if d.Kind == metric.Gauge {
		return s.gauge(d.Name, labels...)
	}
	return s.sum(d.Name, labels...)
}

// gauges makes a point for each series of the gauges that SLOs may name.
func (s *second) gauges() {
	for _, d := range metric.Catalogue(metric.Descriptor.JudgedBySecond) {
		measurement, field, _ := strings.Cut(d.View, ".")
		for _, labels := range s.groups(d.Name, d.Labels...) {
			var f fields
			v, ok := s.value(d, labels)
			f.add(field, v, ok)
			s.add(measurement, f, append(tagsOf(labels), "metric", d.Name)...)
		}
	}
}

// tagsOf returns labels as key, value, key, value.
func tagsOf(labels []metric.Label) (keyValues []string) {
	for _, l := range labels {
		keyValues = append(keyValues, l.Key, l.Value)
	}
	return keyValues
}
