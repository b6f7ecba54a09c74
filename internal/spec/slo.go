// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/observe/metric"
)

// slos reads the SLOs of a profile, sorted by metric.
func (r *reader) slos(n *node) []SLO {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	if len(n.children) == 0 {
		r.fail(n, "want at least one SLO", "add "+example["slo"])
	}
	var all []SLO
	lines := map[string]int{} // line of each SLO
	for _, c := range n.children {
		var s SLO
		problem, hint := s.parseMetric(c.name), `write for example "http_req_duration{name:pay}"`
		named := problem == ""
		if named {
			problem, hint = s.reserved(n.parent, profileOf(n.parent))
		}
		if problem != "" {
			r.failKey(c, problem, hint)
		}
		conditions := r.list(c)
		if len(conditions) == 0 && c.kind == jsontext.KindBeginArray {
			r.fail(c, "want at least one expression", "use "+forms(builtin(s.Metric)))
		}
		for _, e := range conditions {
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
func (s SLO) reserved(flow, profile *node) (problem, hint string) {
	d := s.Descriptor()
	read := "read"
	if s.Kind() == KindLedger {
		read, profile = "read back", flow
	}
	if len(d.SLO) > 0 && !d.From(metric.SourceK6) && len(s.Selector) > 0 {
		return s.Metric + " has no tags to select by", ""
	}
	return lacksKey(d, profile, read)
}

// lacksKey is the problem of a metric whose key the profile does not hold; read is how the
// metric is read.
func lacksKey(d metric.Descriptor, profile *node, read string) (problem, hint string) {
	if d.Key == "" || profile.has(strings.Split(d.Key, ".")...) {
		return "", ""
	}
	of := "profile"
	if profile != profileOf(profile) {
		of = "flow"
	}
	return fmt.Sprintf("%s cannot be %s: the %s has no %q", d.Name, read, of, d.Key), "add " + exampleOfPath(d.Key)
}

// profileOf is the profile that an object with SLOs belongs to: itself, or that of a flow.
func profileOf(n *node) *node {
	if n.parent != nil && n.parent.name == "flows" && n.parent.parent != nil {
		return n.parent.parent
	}
	return n
}
