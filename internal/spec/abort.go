// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
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

// unitShare is the unit of limits on shares of requests.
const unitShare = "share"

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

// abortKind is what a condition says and protects, by what it is on.
type abortKind struct {
	reads           string // metric of the catalogue that the readings are of
	protects        string
	unit            string // of the limit and of the readings; empty: a count
	aggregate, form string // of the expression
	like            string // an example
}

func (a Abort) kind() abortKind {
	switch d, watched := a.watched(); {
	case a.Neighbour != nil:
		return abortKind{metric.NeighbourErrors, "the neighbour " + a.Metric, unitShare, "rate", "rate>SHARE", `"threshold": "rate>0.05 for 10s"`}
	case a.Gauge != nil:
		protects := "the service"
		if u, err := url.Parse(a.Gauge.URL); a.Gauge.URL != "" && err == nil {
			protects = "what " + u.Host + " reports"
		}
		return abortKind{metric.AbortGauge, protects, "", "max", "max>LIMIT", `"threshold": "max>20 for 10s"`}
	case watched:
		k := abortKind{a.Metric, d.Protects, d.Unit, "max", "max>LIMIT", fmt.Sprintf(`"abort": {%q: %q}`, d.Name, d.Abort)}
		if d.Kind == metric.Counter {
			k.unit, k.aggregate, k.form = cmp.Or(d.Unit, "1")+"/s", "rate", "rate>NUMBER"
		}
		return k
	}
	return abortKind{a.Metric, "the target", unitShare, "rate", "rate>SHARE", `"abort": {"http_req_failed": "rate>0.5 for 10s"}`}
}

// Unit is that of Limit and of the readings; empty for a count.
func (a Abort) Unit() string { return a.kind().unit }

// Protects is what the condition protects, like "the database".
func (a Abort) Protects() string { return a.kind().protects }

// Reads is the metric of the catalogue that the readings are of.
func (a Abort) Reads() string { return a.kind().reads }

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
