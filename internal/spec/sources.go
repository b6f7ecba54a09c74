// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// Gauge says where to read a gauge of the catalogue.
type Gauge struct {
	// Metric is a metric in Prometheus' text format, name or name{label="value",...}; the
	// largest of several matching series counts.
	Metric string `json:"metric"`
	URL    string `json:"url,omitempty"` // where Metric is exposed; empty: where the service's metrics are
}

// Selector parses Metric. ok is false if Metric is malformed, which Decode refuses.
func (g Gauge) Selector() (name string, labels []metric.Label, ok bool) {
	s, problem := ParseSelection(g.Metric)
	labels, ok = s.equal()
	return s.Name, labels, ok && problem == ""
}

// Consumer names a consumer group of Kafka, whose lag is read. Credentials come from the
// environment.
type Consumer struct {
	Brokers []string `json:"brokers,omitempty"` // host:port, to connect to first; empty: that of the environment
	Group   string   `json:"group"`
	Topic   string   `json:"topic"`
}

// Lag says where to read a lag: that of a reader of the binlog, such as a change data
// capture connector (the database knows what it has sent, not what was processed), or the
// persist lag.
type Lag struct {
	SQL    string `json:"sql,omitempty"`    // a query of the run's database that returns the lag in ms, each ? is the run id; empty: Metric
	Metric string `json:"metric,omitempty"` // a gauge in Prometheus' text format; of several label sets the largest counts
	Unit   string `json:"unit,omitempty"`   // unit of Metric: UnitMs or UnitSeconds
	URL    string `json:"url,omitempty"`    // where Metric is exposed; empty: where the service's are
}

// Units of times. Metrics of the catalogue have the first; that of a lag may have either.
const (
	UnitMs      = "ms"
	UnitSeconds = "s"
)

// setUnit sets the default of the unit.
func (l *Lag) setUnit() {
	if l != nil && l.Metric != "" {
		l.Unit = cmp.Or(l.Unit, UnitMs)
	}
}

// Neighbour is a service that shares something with the system under test, such as its
// database. It is watched by its own counters, or, without Errors, by its health.
type Neighbour struct {
	// URL is the URL of the neighbour's metrics in Prometheus' text format, or of its health.
	URL     string        `json:"url"`
	Errors  string        `json:"errors,omitempty"`     // Selection of the counters of failed requests
	Total   string        `json:"total,omitempty"`      // Selection of the counters of all requests
	Timeout time.Duration `json:"timeout_ns,omitempty"` // timeout of a health check: a later answer is a failure
}

const (
	// DefaultHealthTimeout is ten times what a health check needs on a busy machine.
	DefaultHealthTimeout = time.Second
	// maxHealthTimeout bounds how late an abort notices a neighbour that hangs.
	maxHealthTimeout = 10 * time.Second
)
