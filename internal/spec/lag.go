// SPDX-License-Identifier: Apache-2.0

package spec

import "cmp"

// Lag says where to read a lag: that of a reader of the binlog, such as a change data
// capture connector (the database knows what it has sent, not what was processed), or the
// persist lag.
type Lag struct {
	SQL    string `json:"sql,omitempty"`    // a query of the run's database that returns the lag in ms, each ? is the run id; empty: Metric
	Metric string `json:"metric,omitempty"` // a gauge in Prometheus' text format; of several label sets the largest counts
	Unit   string `json:"unit,omitempty"`   // of Metric: UnitMs or UnitSeconds
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
