package influx

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	s.add(measurement, f, tagsOf(labels)...)
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

func (s *second) host() {
	var f fields
	cpus, ok := s.gauge(metric.HostCPUs)
	f.add("cpus", cpus, ok)
	f.add("database_cpus", cpus, ok && s.DatabaseHere)
	all, ok := s.sum(metric.HostCPU)
	idle, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "idle"})
	waiting, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "iowait"})
	f.ratio("cpu_busy", all-idle-waiting, all, ok)
	stolen, ok := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "steal"})
	f.ratio("cpu_stolen", stolen, all, ok)
	memory, ok := s.gauge(metric.HostMemoryAvailable)
	f.add("memory_available", memory, ok)
	s.add("host", f)

	s.measured("host")
}

// stages makes an event for each stage that begins in this second.
func (s *second) stages() {
	for _, st := range s.Plan.Load.Stages {
		if st.Start == s.offset() {
			var f fields
			f.text("title", st.Name)
			rate := fmt.Sprintf("%g/s", st.To)
			if st.From != st.To {
				rate = fmt.Sprintf("%g/s to %g/s", st.From, st.To)
			}
			f.text("text", fmt.Sprintf("%s for %s", rate, st.Duration.Round(time.Second)))
			s.add("run_event", f, "kind", "stage")
		}
	}
}

// Verdict makes the event of a run's verdict, at its end.
func Verdict(r RunInfo, ended time.Time, outcome, claim string) []Point {
	var f fields
	f.text("title", outcome)
	f.text("text", claim)
	return r.point("run_event", ended.Unix(), f, "kind", "verdict")
}
