// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

func (r *reader) stubPhase(n *node, s StubFile, data []byte) (p StubPhase) {
	if !r.object(n, []string{"name", "from"}, []string{"for", "endpoints", "latency_factor", "errors", "hang", "reset", "limit", "concurrency"}) {
		return p
	}
	if name := n.get("name"); name != nil {
		var ok bool
		if p.Name, ok = r.text(name); ok && !profileName.MatchString(p.Name) {
			r.fail(name, badName("phase", p.Name), "")
		}
	}
	if from := n.get("from"); from != nil {
		p.From, _ = r.offset(from)
	}
	if c := n.get("for"); c != nil {
		var ok bool
		if p.For, ok = r.offset(c); ok && p.For == 0 {
			r.fail(c, `"for" must be above 0`, "omit it if the phase lasts until the end of the run")
		}
	}
	if endpoints := n.get("endpoints"); endpoints != nil {
		p.Endpoints = r.phaseEndpoints(endpoints, s, n.parent.parent.valid("endpoints"))
	}
	if c := n.get("latency_factor"); c != nil {
		v, ok := r.number(c)
		if ok && !(v >= 0 && v <= maxLatencyFactor) {
			r.fail(c, fmt.Sprintf("latency_factor %s is out of range: want 0 to %d", c.text, maxLatencyFactor), "")
		}
		p.LatencyFactor = &v
	}
	if c := n.get("errors"); c != nil {
		all := r.stubErrors(c, data)
		p.Errors = &all
	}
	p.Hang, p.Reset = r.share(n.get("hang")), r.share(n.get("reset"))
	p.Limit = r.stubLimit(n.get("limit"))
	if c := n.get("concurrency"); c != nil {
		v := r.integer(c, 1, maxStubConcurrency)
		p.Concurrency = &v
	}
	return p
}

// phaseEndpoints reads the names of the endpoints that a phase changes. known: those of the
// file are without errors.
func (r *reader) phaseEndpoints(n *node, s StubFile, known bool) (all []string) {
	var names []string
	valid, seen := map[string]bool{}, map[string]bool{}
	for _, e := range s.Endpoints {
		names, valid[e.Name] = append(names, e.Name), true
	}
	for _, c := range r.list(n) {
		name, ok := r.text(c)
		switch {
		case !ok || !known:
		case !valid[name]:
			r.fail(c, unknown("endpoint", name, names), "endpoints: "+listed(names))
		case seen[name]:
			r.fail(c, "duplicate endpoint "+quote(name), "")
		default:
			all, seen[name] = append(all, name), true
		}
	}
	if n.kind == jsontext.KindBeginArray && len(n.children) == 0 {
		r.fail(n, "want at least one endpoint", "omit it if the phase changes all")
	}
	return all
}

// concerned are the names of the endpoints that a phase changes.
func (s StubFile) concerned(p StubPhase) map[string]bool {
	names := map[string]bool{}
	for _, name := range p.Endpoints {
		names[name] = true
	}
	if len(names) == 0 {
		for _, e := range s.Endpoints {
			names[e.Name] = true
		}
	}
	return names
}

// checkStubPhases reports what a phase alone does not show.
func (r *reader) checkStubPhases(nodes []*node, s StubFile) {
	var concerned []map[string]bool // by each phase
	for i, p := range s.Phases {
		concerned = append(concerned, s.concerned(p))
		r.checkStubPhase(nodes[i], s, p, concerned)
	}
}

// checkStubPhase checks the last phase of which the concerned endpoints are given.
func (r *reader) checkStubPhase(n *node, s StubFile, p StubPhase, concerned []map[string]bool) {
	if p.LatencyFactor == nil && p.Errors == nil && p.Hang == nil && p.Reset == nil && p.Limit == nil && p.Concurrency == nil {
		r.fail(n, "phase "+quote(p.Name)+" changes nothing", "add for example "+example["latency_factor"])
		return
	}
	last, ofAll := len(concerned)-1, p
	ofAll.Endpoints = nil
	for _, e := range s.Endpoints {
		if changed, _ := e.At(ofAll); concerned[last][e.Name] && changed.failing() > 1 {
			r.fail(n, fmt.Sprintf("in this phase errors, hang and reset of %s add up to %g, more than all calls", quote(e.Name), changed.failing()), "")
			return
		}
	}
	for i, q := range s.Phases[:last] {
		switch {
		case q.Name == p.Name:
			r.fail(n, "duplicate phase "+quote(p.Name), "")
			return
		case p.From < q.End() && q.From < p.End() && intersect(concerned[last], concerned[i]):
			r.fail(n, fmt.Sprintf("phase %s begins before phase %s of the same endpoint has ended", quote(p.Name), quote(q.Name)), `change "from" or "for"`)
			return
		}
	}
}

func intersect(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}
