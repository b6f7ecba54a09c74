// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/foreign"
)

// Defaults of a stub file.
const (
	DefaultStubListen = "127.0.0.1:18090"
	defaultStubSeed   = 1
	defaultStubStatus = 200
)

// Limits of a stub file.
const (
	maxStubLatency     = 10 * time.Minute
	maxLatencyFactor   = 1_000_000
	maxStubConcurrency = 1_000_000
)

// StubReserved is the prefix of the paths that a stub keeps for itself.
const StubReserved = "/_assay/"

// DecodeStub reads a stub file, as strictly as Decode. Its error is of type Errors: every
// mistake with its line.
func DecodeStub(file string, data []byte) (_ StubFile, err error) {
	defer foreign.Guard(&err)
	root, bad := parse(file, data, "body")
	if bad != nil {
		return StubFile{}, Errors{bad}
	}
	r := newReader(file, data)
	var s StubFile
	if err := r.errors(func() { s = r.stubFile(root, data) }); err != nil {
		return StubFile{}, err
	}
	s.Path, s.Digest = file, DigestOf(data)
	return s, nil
}

const stubFileExample = `{"version": 1, "endpoints": [{"name": "charge", "match": "POST /charge", "latency": {"p50": "20ms", "p99": "80ms"}}]}`

func (r *reader) stubFile(n *node, data []byte) StubFile {
	s := StubFile{Listen: DefaultStubListen, Seed: defaultStubSeed}
	if !r.is(n, jsontext.KindBeginObject, stubFileExample) || !r.version(n.get("version")) ||
		!r.object(n, []string{"version", "endpoints"}, []string{"$schema", "description", "listen", "seed", "phases"}) {
		return s
	}
	r.reportDuplicates(n)
	r.is(n.get("$schema"), jsontext.KindString, "")
	if d := n.get("description"); d != nil {
		r.line(d)
	}
	if l := n.get("listen"); l != nil {
		s.Listen = r.listen(l)
	}
	if seed := n.get("seed"); seed != nil {
		s.Seed = uint64(r.integer(seed, 0, 1<<53))
	}
	endpoints := n.get("endpoints")
	for _, c := range r.list(endpoints) {
		e := r.stubEndpoint(c, data)
		for _, before := range s.Endpoints {
			switch {
			case e.Name != "" && e.Name == before.Name:
				r.fail(c, "duplicate endpoint "+quote(e.Name), "")
			case e.Match != "" && e.Match == before.Match:
				r.fail(c, quote(e.Match)+" is the match of an endpoint before", "")
			}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	if endpoints != nil && endpoints.kind == jsontext.KindBeginArray && len(endpoints.children) == 0 {
		r.fail(endpoints, "want at least one endpoint", "write for example "+example["endpoints"])
	}
	phases := n.get("phases")
	for _, c := range r.list(phases) {
		s.Phases = append(s.Phases, r.stubPhase(c, s, data))
	}
	if phases == nil || !phases.validTree() || endpoints == nil || !endpoints.validTree() {
		return s
	}
	r.checkStubPhases(phases.children, s)
	return s
}

func (r *reader) listen(n *node) string {
	text, ok := r.text(n)
	if !ok {
		return ""
	}
	if !isHostPort(text) {
		r.fail(n, quote(text)+" is not host:port", "write for example "+example["listen"])
	}
	return text
}

// stubRoute is a method and a path, as net/http matches them.
var stubRoute = regexp.MustCompile(`^(?:(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) )?(/[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*)$`)

// cleanPath reports whether a path has no segments that net/http would remove.
func cleanPath(p string) bool {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean == p
}

// wildcardName is the name of a segment in braces.
var wildcardName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validWildcards reports whether the braces of a path are as net/http takes them: around a
// whole segment, which they name, each with another name; with "..." after the name for all
// that is left of the path, or "$" alone for its end, only in the last segment.
func validWildcards(p string) bool {
	segments, seen := strings.Split(p[1:], "/"), map[string]bool{}
	for i, s := range segments {
		if !strings.ContainsAny(s, "{}") {
			continue
		}
		if !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
			return false
		}
		last, name := i == len(segments)-1, s[1:len(s)-1]
		if last && name == "$" {
			continue
		}
		if last {
			name = strings.TrimSuffix(name, "...")
		}
		if !wildcardName.MatchString(name) || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func (r *reader) stubEndpoint(n *node, data []byte) StubEndpoint {
	e := StubEndpoint{Status: defaultStubStatus}
	if !r.object(n, []string{"name", "match", "latency"}, []string{"status", "body", "errors", "hang", "reset", "limit", "concurrency", "background"}) {
		return e
	}
	if name := n.get("name"); name != nil {
		var ok bool
		if e.Name, ok = r.text(name); ok && !profileName.MatchString(e.Name) {
			r.fail(name, badName("endpoint", e.Name), "")
		}
	}
	if match := n.get("match"); match != nil {
		var ok bool
		e.Match, ok = r.text(match)
		route := stubRoute.FindStringSubmatch(e.Match)
		switch {
		case !ok:
		case route == nil, !cleanPath(route[2]):
			r.fail(match, quote(e.Match)+" is not a method and a path", `write for example "match": "POST /charge", or "GET /charge/{id}"`)
		case !validWildcards(route[2]):
			r.fail(match, quote(e.Match)+" has braces that are no segment with a name of its own", `write for example "GET /charge/{id}/lines/{line}"; {name...} and {$} may only be the last segment`)
		case strings.HasPrefix(route[2]+"/", StubReserved):
			r.fail(match, StubReserved+" is the prefix of the stub's own paths", "choose another path")
		}
	}
	e.Latency = r.latency(n.get("latency"))
	e.Status = r.status(n.get("status"), defaultStubStatus)
	e.Body = raw(n.get("body"), data)
	e.Errors = r.stubErrors(n.get("errors"), data)
	set(&e.Hang, r.share(n.get("hang")))
	set(&e.Reset, r.share(n.get("reset")))
	e.Limit = r.stubLimit(n.get("limit"))
	if c := n.get("concurrency"); c != nil {
		e.Concurrency = r.integer(c, 1, maxStubConcurrency)
	}
	e.Background = r.bool(n.get("background"))
	if sum := e.failing(); n.validTree() && sum > 1 {
		r.fail(n, fmt.Sprintf("errors, hang and reset add up to %g, more than all calls", sum), "")
	}
	return e
}

// failing is the share of calls that have another end than the usual answer.
func (e StubEndpoint) failing() float64 {
	sum := e.Hang + e.Reset
	for _, s := range e.Errors {
		sum += s.Rate
	}
	return sum
}

// raw is the JSON text of a value; nil if the key is missing.
func raw(n *node, data []byte) json.RawMessage {
	if n == nil {
		return nil
	}
	// Duplicate keys are reported elsewhere.
	v, err := jsontext.NewDecoder(bytes.NewReader(data[n.offset:]), jsontext.AllowDuplicateNames(true)).ReadValue()
	if err != nil || v.Compact() != nil {
		return nil // the file has been parsed
	}
	return json.RawMessage(v)
}

func (r *reader) latency(n *node) (l Latency) {
	if n == nil || !r.is(n, jsontext.KindBeginObject, example["latency"]) {
		return l
	}
	if fixed := n.get("fixed"); fixed != nil {
		r.object(n, []string{"fixed"}, []string{"p50", "p99"})
		if n.get("p50") != nil || n.get("p99") != nil {
			r.fail(n, `want either "fixed", or "p50" and "p99"`, "")
		}
		l.P50 = r.stubTime(fixed)
		l.P99 = l.P50
		return l
	}
	r.object(n, []string{"p50", "p99"}, []string{"fixed"})
	l.P50, l.P99 = r.stubTime(n.get("p50")), r.stubTime(n.get("p99"))
	switch p50, p99 := n.get("p50"), n.get("p99"); {
	case p50 == nil || p99 == nil || p50.bad || p99.bad:
	case l.P50 == 0:
		r.fail(p50, "p50 must be above 0", `write "latency": {"fixed": "0s"} for none`)
	case l.P99 < l.P50:
		r.fail(p99, fmt.Sprintf("p99 %v is less than p50 %v", l.P99, l.P50), "")
	}
	return l
}

func (r *reader) stubTime(n *node) time.Duration {
	if n == nil {
		return 0
	}
	d, ok := r.duration(n)
	if ok && (d < 0 || d > maxStubLatency) {
		r.fail(n, fmt.Sprintf("%v is out of range: want 0 to %v", d, maxStubLatency), "")
	}
	return d
}

func (r *reader) status(n *node, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return r.integer(n, 200, 599)
}

// stubErrors reads one error or a list of them.
func (r *reader) stubErrors(n *node, data []byte) (all []StubError) {
	if n == nil {
		return nil
	}
	each := []*node{n}
	if n.kind == jsontext.KindBeginArray {
		each = n.children
	}
	for _, c := range each {
		if !r.is(c, jsontext.KindBeginObject, example["errors"]) || !r.object(c, []string{"rate", "status"}, []string{"body"}) {
			continue
		}
		e := StubError{Status: r.status(c.get("status"), 0), Body: raw(c.get("body"), data)}
		if rate := c.get("rate"); rate != nil {
			e.Rate = r.positiveShare(rate, 1)
		}
		all = append(all, e)
	}
	return all
}

func (r *reader) stubLimit(n *node) *StubLimit {
	if n == nil || !r.is(n, jsontext.KindBeginObject, example["limit"]) || !r.object(n, []string{"rate"}, []string{"burst"}) {
		return nil
	}
	var l StubLimit
	if rate := n.get("rate"); rate != nil {
		l.Rate = r.rate(rate)
	}
	l.Burst = max(1, int(l.Rate))
	if burst := n.get("burst"); burst != nil {
		l.Burst = r.integer(burst, 1, int(MaxRate))
	}
	return &l
}
