package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/harness/observe/metric"
)

// Gauge says where to read a gauge of the catalogue.
type Gauge struct {
	Metric string `json:"metric"`        // of Prometheus' text format, name or name{label="value",...}; of several series that match, the largest counts
	URL    string `json:"url,omitempty"` // where Metric is exposed; empty: where the service's metrics are
}

// promLabel is one label="value" of a selector, and the comma before the next.
var promLabel = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*("(?:[^"\\]|\\.)*")\s*(,|$)`)

// Selector parses Metric. ok is false if Metric is malformed, which Decode refuses.
func (g Gauge) Selector() (name string, labels []metric.Label, ok bool) {
	name, rest, braced := strings.Cut(g.Metric, "{")
	name = strings.TrimSpace(name)
	if !promName.MatchString(name) {
		return "", nil, false
	}
	if !braced {
		return name, nil, true
	}
	body, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	for body = strings.TrimSpace(body); closed && body != ""; {
		m := promLabel.FindStringSubmatch(body)
		if m == nil {
			return "", nil, false
		}
		value, err := strconv.Unquote(m[2])
		if err != nil {
			return "", nil, false
		}
		labels, body = append(labels, metric.Label{Key: m[1], Value: value}), body[len(m[0]):]
	}
	return name, labels, closed
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
		c := n.get(name)
		if !r.object(c, []string{"metric"}, []string{"url"}) {
			continue
		}
		var g Gauge
		var ok bool
		if g.Metric, ok = r.text(c.get("metric")); ok {
			if _, _, ok = g.Selector(); !ok {
				r.fail(c.get("metric"), fmt.Sprintf(`%s is not name or name{label="value"}`, quote(g.Metric)), "write for example "+exampleOf(c.get("metric")))
			}
		}
		g.URL = r.metricsURL(c.get("url"))
		all[name] = g
	}
	return all
}
