// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// abortKeys are the keys of k6's thresholds that stop a run. Here an SLO never does:
// a run that violates one continues, to measure by how much.
var abortKeys = map[string]refusal{
	"abortOnFail":    {`"abortOnFail" is not supported here: use the profile's "abort" to stop a run`, likeThis(example["abort"])},
	"delayAbortEval": {`"delayAbortEval" is not supported here: use the profile's "abort", which takes a duration, to stop a run`, likeThis(example["abort"])},
}

// condition reads an SLO's condition: an expression, or k6's object that holds
// one. named is false where the SLO's metric could not be read.
func (r *reader) condition(n *node, s *SLO, named bool) bool {
	if n.kind != jsontext.KindBeginObject {
		return r.expression(n, s, named)
	}
	r.objectRefusing(n, []string{"threshold"}, []string{"basis"}, abortKeys)
	ok := r.expression(n.get("threshold"), s, named)
	basis := n.get("basis")
	word, _ := r.oneOf(basis, "basis", string(Counted), string(Inferred))
	s.Basis = Basis(word)
	if reason := s.alwaysCounted(); s.Basis == Inferred && reason != "" {
		r.fail(basis, reason, `write "counted", or omit "basis"`)
	}
	return ok && n.validTree()
}

func (r *reader) expression(n *node, s *SLO, named bool) bool {
	if n == nil {
		return false
	}
	d, known := builtin(s.Metric)
	form := forms(d, known)
	if n.kind != jsontext.KindString {
		r.fail(n, fmt.Sprintf("want an expression in a string, not %s", kindWords[n.kind]), "use "+form)
		return false
	}
	s.At = r.position(n)
	problem := s.parseExpression(n.text)
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
	hint := ""
	if form != "" && !strings.HasSuffix(problem, form) {
		hint = "use " + form
	}
	r.fail(n, fmt.Sprintf("%s: %s", quote(n.text), problem), hint)
	return false
}
