package spec

import (
	"fmt"
	"slices"
	"strings"

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
	for _, e := range s.Endpoints {
		names = append(names, e.Name)
	}
	for _, c := range r.list(n) {
		name, ok := r.text(c)
		switch {
		case !ok || !known:
		case !slices.Contains(names, name):
			r.fail(c, unknown("endpoint", name, names), "endpoints: "+strings.Join(names, ", "))
		case slices.Contains(all, name):
			r.fail(c, "duplicate endpoint "+quote(name), "")
		default:
			all = append(all, name)
		}
	}
	if n.kind == jsontext.KindBeginArray && len(n.children) == 0 {
		r.fail(n, "want at least one endpoint", "omit it if the phase changes all")
	}
	return all
}

// checkStubPhase reports what a phase alone does not show.
func (r *reader) checkStubPhase(n *node, s StubFile, p StubPhase, before []StubPhase) {
	if p.LatencyFactor == nil && p.Errors == nil && p.Hang == nil && p.Reset == nil && p.Limit == nil && p.Concurrency == nil {
		r.fail(n, "phase "+quote(p.Name)+" changes nothing", "add for example "+example["latency_factor"])
		return
	}
	for _, e := range s.Endpoints {
		if changed, _ := e.At(p); changed.failing() > 1 {
			r.fail(n, fmt.Sprintf("in this phase errors, hang and reset of %s add up to %g, more than all calls", quote(e.Name), changed.failing()), "")
			return
		}
	}
	for _, q := range before {
		switch {
		case q.Name == p.Name:
			r.fail(n, "duplicate phase "+quote(p.Name), "")
			return
		case p.From < q.End() && q.From < p.End() && slices.ContainsFunc(s.Endpoints, func(e StubEndpoint) bool { return p.Concerns(e.Name) && q.Concerns(e.Name) }):
			r.fail(n, fmt.Sprintf("phase %s begins before phase %s of the same endpoint has ended", quote(p.Name), quote(q.Name)), `change "from" or "for"`)
			return
		}
	}
}
