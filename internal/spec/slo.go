// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// slos reads the SLOs of a profile, sorted by metric.
func (r *reader) slos(n *node) []SLO {
	var all []SLO
	lines := map[string]int{} // line of each SLO
	for _, c := range n.all() {
		var s SLO
		problem, hint := s.parseMetric(c.name), `write for example "http_req_duration{name:pay}"`
		named := problem == ""
		if named {
			problem, hint = r.reserved(s, n.parent)
		}
		if problem != "" {
			r.failKey(c, problem, hint)
		}
		for _, e := range c.children {
			s := s // a copy for each condition
			if !r.condition(e, &s, named) || !named {
				continue
			}
			id := fmt.Sprint(s.MetricText(), s.Aggregate, s.Count, s.Quantile, s.Operator, s.Bound)
			if line, ok := lines[id]; ok {
				r.fail(e, fmt.Sprintf("%s duplicates the SLO in line %d", quote(s.Expression), line), "")
				continue
			}
			lines[id] = s.At.Line
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b SLO) int { return cmp.Compare(a.MetricText(), b.MetricText()) })
	return all
}

// Words are the names that samples are selected by.
func (s SLO) Words() []string {
	all := []string{s.Metric, s.Metric + metric.RateTotal, s.Metric + metric.RateOccurred}
	for _, l := range s.Selector {
		all = append(all, l.Key, l.Value)
	}
	return all
}

// reserved checks an SLO on a metric of Assay: it takes no tags, and some need a key
// of the profile, or of its flow, that says where to read them.
func (r *reader) reserved(s SLO, flow *node) (problem, hint string) {
	d, read, holder := s.Descriptor(), "read", profileOf(flow)
	if s.Kind() == KindLedger {
		read, holder = "read back", flow
	}
	if len(d.SLO) > 0 && !d.From(metric.SourceK6) && len(s.Selector) > 0 {
		return s.Metric + " has no tags to select by", ""
	}
	return r.lacksKey(d, holder, read)
}

// lacksKey is the problem of a metric whose key the profile, or flow, does not hold; read is
// how the metric is read.
func (r *reader) lacksKey(d metric.Descriptor, holder *node, read string) (problem, hint string) {
	path := strings.Split(d.Key, ".")
	if d.Key == "" || holder.has(path...) {
		return "", ""
	}
	of := "profile"
	if holder != profileOf(holder) {
		of = "flow"
	}
	return fmt.Sprintf("%s cannot be %s: the %s has no %q", d.Name, read, of, d.Key), "add " + r.example(holder, path[0])
}

// profileOf is the profile that an object with SLOs belongs to: itself, or that of a flow.
func profileOf(n *node) *node {
	if n.parent != nil && n.parent.name == "flows" && n.parent.parent != nil {
		return n.parent.parent
	}
	return n
}
