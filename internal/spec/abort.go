// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"net/url"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// Abort stops a run that does harm: when what it reads exceeds Limit in each second of the
// duration For.
type Abort struct {
	Metric     string        `json:"metric"`              // a rate of the load, or a metric of service or database; with Gauge or Neighbour its name in the profile
	Expression string        `json:"expression"`          // like "rate>0.5 for 10s"
	Limit      float64       `json:"limit"`               // in Unit
	For        time.Duration `json:"for_ns"`              // whole seconds
	Gauge      *Gauge        `json:"gauge,omitempty"`     // that is read for this condition
	Neighbour  *Neighbour    `json:"neighbour,omitempty"` // whose failed requests are a share of its requests
	At         Position      `json:"-"`                   // of the expression, for CheckMetrics
}

// Units of limits, besides those of metrics.
const (
	unitShare     = "share"
	unitPerSecond = "1/s"
)

// watched is the catalogue's entry of the metric of service or database that the condition
// names; ok is false for the others.
func (a Abort) watched() (d metric.Descriptor, ok bool) {
	if a.Gauge != nil || a.Neighbour != nil {
		return d, false
	}
	d, ok = metric.Find(a.Metric)
	return d, ok && d.Abort != ""
}

// OfLoad reports whether the condition is on a rate of the load itself.
func (a Abort) OfLoad() bool {
	_, ok := a.watched()
	return !ok && a.Gauge == nil && a.Neighbour == nil
}

// Unit is that of Limit and of the readings; empty for a count.
func (a Abort) Unit() string {
	d, ok := a.watched()
	switch {
	case !ok && a.Gauge == nil:
		return unitShare
	case d.Kind == metric.Counter && d.Unit == "":
		return unitPerSecond
	case d.Kind == metric.Counter:
		return d.Unit + "/s"
	}
	return d.Unit
}

// Protects is what the condition protects, like "the database".
func (a Abort) Protects() string {
	if d, ok := a.watched(); ok {
		return d.Protects
	}
	switch {
	case a.Neighbour != nil:
		return "the neighbour " + a.Metric
	case a.Gauge != nil && a.Gauge.URL != "":
		if u, err := url.Parse(a.Gauge.URL); err == nil {
			return "what " + u.Host + " reports"
		}
	case a.Gauge == nil:
		return "the target"
	}
	return "the service"
}

// Reads is the metric of the catalogue that the readings are of.
func (a Abort) Reads() string {
	switch {
	case a.Gauge != nil:
		return metric.AbortGauge
	case a.Neighbour != nil:
		return metric.NeighbourErrors
	}
	return a.Metric
}

// Source is the source of the frames that the readings come from; that of the load is
// metric.SourceWorker.
func (a Abort) Source() string {
	d, _ := metric.Find(a.Reads())
	switch {
	case a.OfLoad():
		return metric.SourceWorker
	case d.From(metric.SourceCoordinator): // computed from what the database reports
		return metric.SourceDatabase
	}
	return d.Sources[0]
}

// Aborts reports whether a condition of the profile reads a metric of the catalogue.
func (p Profile) Aborts(name string) bool {
	return slices.ContainsFunc(p.Abort, func(a Abort) bool { return a.Reads() == name })
}
