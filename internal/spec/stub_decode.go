// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// DefaultStubListen is where a stub listens whose file does not say so.
const DefaultStubListen = "127.0.0.1:18090"

// maxStubLatency is the longest time for which a stub works on a call.
const maxStubLatency = 10 * time.Minute

// DecodeStub reads a stub file, as strictly as Decode. Its error is of type Errors: every
// mistake with its line.
func DecodeStub(file string, data []byte) (StubFile, error) {
	s := StubFile{Path: file, Digest: DigestOf(data), Listen: DefaultStubListen, Seed: 1}
	if err := decode(file, data, stubSchema(), "body", func(r *reader, root *node) { r.stubFile(root, &s) }); err != nil {
		return StubFile{}, err
	}
	return s, nil
}

func (r *reader) stubFile(n *node, s *StubFile) {
	r.fill(n, s)
	endpoints, phases := n.get("endpoints"), n.get("phases")
	for i := range s.Endpoints {
		e, c := &s.Endpoints[i], endpoints.children[i]
		e.Status = cmp.Or(e.Status, 200)
		e.Limit.setBurst()
		r.latency(c.get("latency"), &e.Latency)
		if sum := e.failing(); c.validTree() && sum > 1 {
			r.fail(c, fmt.Sprintf("errors, hang and reset add up to %g, more than all calls", sum), "")
		}
		for _, before := range s.Endpoints[:i] {
			switch {
			case e.Name != "" && e.Name == before.Name:
				r.fail(c, "duplicate endpoint "+quote(e.Name), "")
			case e.Match != "" && e.Match == before.Match:
				r.fail(c, quote(e.Match)+" is the match of an endpoint before", "")
			}
		}
	}
	if endpoints == nil || !endpoints.validTree() {
		return
	}
	names, known := make([]string, len(s.Endpoints)), map[string]bool{}
	for i, e := range s.Endpoints {
		names[i], known[e.Name] = e.Name, true
	}
	for i := range s.Phases {
		s.Phases[i].Limit.setBurst()
		for _, c := range phases.children[i].get("endpoints").all() {
			if !c.bad && !known[c.text] {
				r.fail(c, unknown("endpoint", c.text, names), "endpoints: "+listed(names))
			}
		}
	}
	if phases != nil && phases.validTree() {
		r.checkStubPhases(phases.children, *s, names)
	}
}

// setBurst sets the default of the burst.
func (l *StubLimit) setBurst() {
	if l != nil {
		l.Burst = cmp.Or(l.Burst, max(1, int(l.Rate)))
	}
}

func (r *reader) latency(n *node, l *Latency) {
	if n == nil || !n.validTree() {
		return
	}
	if fixed := n.get("fixed"); fixed != nil {
		r.fill(fixed, &l.P50)
		l.P99 = l.P50
		return
	}
	switch {
	case l.P50 == 0:
		r.fail(n.get("p50"), "p50 must be above 0", `write "latency": {"fixed": "0s"} for none`)
	case l.P99 < l.P50:
		r.fail(n.get("p99"), fmt.Sprintf("p99 %v is less than p50 %v", l.P99, l.P50), "")
	}
}

// failing is the share of calls that have another end than the usual answer.
func (e StubEndpoint) failing() float64 {
	sum := e.Hang + e.Reset
	for _, s := range e.Errors {
		sum += s.Rate
	}
	return sum
}

// checkStubPhases reports what a phase alone does not show.
func (r *reader) checkStubPhases(nodes []*node, s StubFile, names []string) {
	concerned := make([]map[string]bool, len(s.Phases)) // endpoints, by each phase
	for i, p := range s.Phases {
		concerned[i] = map[string]bool{}
		if len(p.Endpoints) == 0 {
			p.Endpoints = names
		}
		for _, name := range p.Endpoints {
			concerned[i][name] = true
		}
		if problem, hint := s.phaseFault(i, concerned); problem != "" {
			r.fail(nodes[i], problem, hint)
		}
	}
}

// phaseFault is what is wrong with a phase; concerned are the endpoints of each up to it.
func (s StubFile) phaseFault(i int, concerned []map[string]bool) (problem, hint string) {
	p := s.Phases[i]
	for _, e := range s.Endpoints {
		if changed, _ := e.in(p); concerned[i][e.Name] && changed.failing() > 1 {
			return fmt.Sprintf("in this phase errors, hang and reset of %s add up to %g, more than all calls", quote(e.Name), changed.failing()), ""
		}
	}
	for j, q := range s.Phases[:i] {
		shared := func(e StubEndpoint) bool { return concerned[i][e.Name] && concerned[j][e.Name] }
		switch {
		case q.Name == p.Name:
			return "duplicate phase " + quote(p.Name), ""
		case p.From < q.End() && q.From < p.End() && slices.ContainsFunc(s.Endpoints, shared):
			return fmt.Sprintf("phase %s begins before phase %s of the same endpoint has ended", quote(p.Name), quote(q.Name)), `change "from" or "for"`
		}
	}
	return "", ""
}
