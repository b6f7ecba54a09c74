package spec

import "fmt"

// BinlogReader says where to read the lag of a binlog reader, such as a change data
// capture connector. The database knows what it has sent, not what was processed.
type BinlogReader = Lag

// Lag says where to read a lag.
type Lag struct {
	SQL    string `json:"sql,omitempty"`    // a query of the run's database that returns the lag in ms; empty: Metric
	Metric string `json:"metric,omitempty"` // a gauge in Prometheus' text format; of several label sets the largest counts
	Unit   string `json:"unit,omitempty"`   // of Metric: UnitMs or UnitSeconds
	URL    string `json:"url,omitempty"`    // where Metric is exposed; empty: where the service's are
}

// Units of times. Metrics of the catalogue have the first; a reader's may have either.
const (
	UnitMs      = "ms"
	UnitSeconds = "s"
)

func (r *reader) lag(n *node) *Lag {
	if !r.object(n, nil, []string{"sql", "metric", "unit", "url"}) {
		return nil
	}
	var b Lag
	b.SQL, _ = r.text(n.get("sql"))
	if name := n.get("metric"); name != nil {
		b.Unit = UnitMs
		var ok bool
		if b.Metric, ok = r.text(name); ok && !promName.MatchString(b.Metric) {
			r.fail(name, fmt.Sprintf("%s is not the name of a metric", quote(b.Metric)), "write for example "+example["metric"])
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
		b.Unit, _ = r.oneOf(unit, "unit", UnitMs, UnitSeconds)
	}
	b.URL = r.metricsURL(n.get("url"))
	return &b
}
