// SPDX-License-Identifier: Apache-2.0

package spec

import "fmt"

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

func (r *reader) lag(n *node) *Lag {
	if !r.object(n, nil, []string{"sql", "metric", "unit", "url"}) {
		return nil
	}
	var l Lag
	l.SQL, _ = r.text(n.get("sql"))
	if name := n.get("metric"); name != nil {
		l.Unit = UnitMs
		var ok bool
		if l.Metric, ok = r.text(name); ok && !promName.MatchString(l.Metric) {
			r.fail(name, fmt.Sprintf("%s is not the name of a metric", quote(l.Metric)), "write for example "+example["metric"])
		}
	}
	if both := n.get("sql") != nil && n.get("metric") != nil; both || !n.mayHave("sql") && !n.mayHave("metric") {
		r.fail(n, `want either "sql" or "metric"`, "write for example "+exampleOf(n))
	}
	for _, key := range []string{"unit", "url"} {
		if c := n.get(key); c != nil && !n.mayHave("metric") && n.mayHave("sql") {
			r.fail(c, fmt.Sprintf("%q requires \"metric\"", key), "")
		}
	}
	if unit := n.get("unit"); unit != nil {
		l.Unit, _ = r.oneOf(unit, "unit", UnitMs, UnitSeconds)
	}
	l.URL = r.metricsURL(n.get("url"))
	return &l
}
