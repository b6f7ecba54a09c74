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
	var all []SLO
	lines := map[string]int{} // line of each SLO
	for _, c := range n.all() {
		var s SLO
		problem, hint := s.parseMetric(c.name), `write for example "http_req_duration{name:pay}"`
		named := problem == ""
		if d := s.Descriptor(); named && len(d.SLO) > 0 && !d.From(metric.SourceK6) && len(s.Selector) > 0 {
			problem, hint = s.Metric+" has no tags to select by", ""
		}
		if problem != "" && !c.bad {
			r.failKey(c, problem, hint)
		}
		if c.kind != jsontext.KindBeginArray { // which is reported
			continue
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

// condition reads an SLO's condition: an expression, or k6's object that holds
// one. named is false where the SLO's metric could not be read.
func (r *reader) condition(n *node, s *SLO, named bool) bool {
	if n.kind != jsontext.KindBeginObject {
		return r.expression(n, s, named)
	}
	ok := r.expression(n.get("threshold"), s, named)
	if basis := n.get("basis"); basis != nil && !basis.bad {
		s.Basis = basis.text
		if reason := s.alwaysCounted(); s.Basis == Inferred && reason != "" {
			r.fail(basis, reason, `write "counted", or omit "basis"`)
		}
	}
	return ok && n.validTree()
}

func (r *reader) expression(n *node, s *SLO, named bool) bool {
	if n == nil || n.bad {
		return false
	}
	s.At = r.position(n)
	problem := s.parseExpression(n.text)
	d, known := builtin(s.Metric)
	// A wrong aggregate explains more than a wrong operator or bound. It cannot be
	// checked for a metric whose name could not be read.
	if s.Aggregate != "" && (named || known) {
		if mismatch := s.mismatch(d, known); mismatch != "" {
			problem = mismatch
		}
	}
	if problem == "" {
		return true
	}
	form, hint := forms(d, known), ""
	if form != "" && !strings.HasSuffix(problem, form) {
		hint = "use " + form
	}
	r.fail(n, fmt.Sprintf("%s: %s", quote(n.text), problem), hint)
	return false
}
