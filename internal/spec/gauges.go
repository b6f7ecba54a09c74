// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"

	"assay.dev/assay/internal/observe/metric"
)

// Gauge says where to read a gauge of the catalogue.
type Gauge struct {
	Metric string `json:"metric"`        // of Prometheus' text format, name or name{label="value",...}; of several series that match, the largest counts
	URL    string `json:"url,omitempty"` // where Metric is exposed; empty: where the service's metrics are
}

// Selector parses Metric. ok is false if Metric is malformed, which Decode refuses.
func (g Gauge) Selector() (name string, labels []metric.Label, ok bool) {
	s, problem := ParseSelection(g.Metric)
	if problem != "" {
		return "", nil, false
	}
	if labels, ok = s.equal(); !ok {
		return "", nil, false
	}
	return s.Name, labels, true
}

// gauges reads the sources of those gauges that the catalogue leaves to the profile.
func (r *reader) gauges(n *node) map[string]Gauge {
	var names []string
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.JudgedBySecond() && d.From(metric.SourceGauges) }) {
		names = append(names, d.Name)
	}
	if !r.object(n, nil, names) {
		return nil
	}
	if len(n.children) == 0 {
		r.fail(n, "want at least one gauge", "write for example "+exampleOf(n))
	}
	all := map[string]Gauge{}
	for _, name := range names {
		if c := n.get(name); c != nil {
			all[name] = r.gauge(c)
		}
	}
	return all
}

// gauge reads where a gauge is exposed.
func (r *reader) gauge(n *node) (g Gauge) {
	if !r.object(n, []string{"metric"}, []string{"url"}) {
		return g
	}
	var ok bool
	if g.Metric, ok = r.text(n.get("metric")); ok {
		if _, _, ok = g.Selector(); !ok {
			r.fail(n.get("metric"), fmt.Sprintf(`%s is not name or name{label="value"}`, quote(g.Metric)), "write for example "+exampleOf(n.get("metric")))
		}
	}
	g.URL = r.metricsURL(n.get("url"))
	return g
}
