// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// condition reads an SLO's condition: an expression, or k6's object that holds
// one. named is false where the SLO's metric could not be read.
func (r *reader) condition(n *node, s *SLO, named bool) bool {
	if n.kind != jsontext.KindBeginObject {
		return r.expression(n, s, named)
	}
	ok := r.expression(n.get("threshold"), s, named)
	if basis := n.get("basis"); basis != nil && !basis.bad {
		s.Basis = Basis(basis.text)
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
