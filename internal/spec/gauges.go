// SPDX-License-Identifier: Apache-2.0

package spec

import "assay.dev/assay/internal/observe/metric"

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
