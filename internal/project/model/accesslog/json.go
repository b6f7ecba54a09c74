package accesslog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonLines parses lines that are an object of JSON each.
type jsonLines struct {
	zone   *time.Location
	unit   Unit // unit of every duration; 0: each field has its own
	auto   Unit // unit of fields whose own unit is not known
	fields map[string]*field
	nested map[string]bool // names of objects that hold some

	input   bytes.Buffer
	decoder *jsontext.Decoder
	name    []byte // name of the field that is read
	found   [roles]found
	from    *field // field of the last duration; nil: there was none
	// sampled are durations of unknown unit, where a sample is read.
	sampled *[]sampled
}

// found is the value of a role in the current line.
type found struct {
	field *field // nil: none
	raw   []byte
	text  []byte // memory for unescaped strings
}

type sampled struct {
	value      float64
	fractional bool
}

func newJSON(o Options) *jsonLines {
	p := &jsonLines{zone: cmp.Or(o.Zone, time.UTC), unit: o.Unit, auto: o.auto, fields: map[string]*field{}, nested: map[string]bool{}}
	for rank, f := range slices.Backward(fieldsOf(o.Fields)) {
		f.rank, p.fields[f.name] = rank, &f
		for at, c := range f.name {
			if c == '.' {
				p.nested[f.name[:at]] = true
			}
		}
	}
	p.decoder = jsontext.NewDecoder(&p.input, lenient...)
	return p
}

// lenient: a log may hold any bytes of a client.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func (p *jsonLines) Parse(line []byte, e *Entry) Problem {
	p.input = *bytes.NewBuffer(line) // not copied
	p.decoder.Reset(&p.input, lenient...)
	for i := range p.found {
		p.found[i].field = nil
	}
	if p.decoder.PeekKind() != jsontext.KindBeginObject || !p.object(p.name[:0]) || p.decoder.PeekKind() != jsontext.KindInvalid {
		return NotJSON // or something follows the object
	}
	return p.entry(e)
}

// object reads an object whose names begin with a prefix.
func (p *jsonLines) object(prefix []byte) bool {
	if _, err := p.decoder.ReadToken(); err != nil {
		return false
	}
	for {
		switch p.decoder.PeekKind() {
		case jsontext.KindEndObject:
			_, err := p.decoder.ReadToken()
			return err == nil
		case jsontext.KindInvalid:
			return false
		}
		key, err := p.decoder.ReadValue()
		if err != nil {
			return false
		}
		p.name = append(append(p.name[:len(prefix)], key[1:len(key)-1]...), '.') // names with escapes are not ours
		name := p.name[:len(p.name)-1]
		if p.decoder.PeekKind() == jsontext.KindBeginObject && p.nested[string(name)] {
			if !p.object(p.name) {
				return false
			}
			continue
		}
		f := p.fields[string(name)]
		raw, err := p.decoder.ReadValue()
		if err != nil {
			return false
		}
		if f != nil {
			p.keep(f, raw)
		}
	}
}

// keep stores the value of a field unless a better one is known.
func (p *jsonLines) keep(of *field, raw []byte) {
	f := &p.found[of.role]
	if f.field != nil && f.field.rank <= of.rank {
		return
	}
	switch raw[0] {
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			raw = raw[1 : len(raw)-1]
			break
		}
		text, err := jsontext.AppendUnquote(f.text[:0], raw)
		if err != nil {
			return
		}
		f.text, raw = text, text
	case 'n', 't', 'f', '{', '[':
		return
	}
	f.field, f.raw = of, raw
}

// entry makes the entry of what was found.
func (p *jsonLines) entry(e *Entry) Problem {
	when := p.found[roleTime]
	if when.field == nil {
		return NoTime
	}
	at, ok := anyTime(when.raw, p.zone)
	if !ok {
		return NoTime
	}
	status := p.found[roleStatus]
	if status.field == nil {
		return NoStatus
	}
	if string(status.raw) == "0" { // Envoy: nothing was sent
		e.Status = 0
	} else if !e.setStatus(status.raw) {
		return NoStatus
	}
	path, line := p.found[rolePath], p.found[roleRequest]
	method := p.found[roleMethod]
	problem := NoRequest
	switch {
	case path.field != nil && method.field != nil:
		if e.Method, ok = methodOf(method.raw); !ok {
			return NoPath
		}
		problem = e.setTarget(path.raw)
	case line.field != nil:
		problem = e.setRequestLine(line.raw)
	}
	if problem != None {
		return problem
	}
	e.Latency, e.At = p.latency(), at.micros
	if !when.field.start {
		e.At = at.arrival(e.Latency)
	}
	return None
}

func (p *jsonLines) latency() int64 {
	took := p.found[roleDuration]
	if took.field == nil {
		return NoLatency
	}
	p.from = took.field
	v, fractional, ok := number(took.raw)
	if !ok {
		return suffixed(took.raw)
	}
	if p.sampled != nil && p.unit == 0 && took.field.unit == 0 {
		*p.sampled = append(*p.sampled, sampled{v, fractional})
	}
	return micros(v, p.unitOf(took.field))
}

func (p *jsonLines) unitOf(f *field) Unit { return cmp.Or(p.unit, f.unit, p.auto) }

// The medians of a sample from which on a unit is not plausible, in that unit: a service that
// takes as long for every second request is not looked at under load.
const (
	leastNotSeconds = 10        // s
	leastNotMillis  = 10_000    // ms: 10 s
	leastNotMicros  = 1_000_000 // µs: 1 s; in ns, it is 1 ms
)

// settle tells the unit of durations from a sample of them. Whole numbers are ms, as
// Envoy's, and numbers with fractions are s, as Caddy's, but of a median that would be too
// long the next smaller unit is tried: Go's slog writes ns.
func settle(all []sampled) Unit {
	median := 0.0
	if len(all) > 0 {
		slices.SortFunc(all, func(a, b sampled) int { return cmp.Compare(a.value, b.value) })
		median = all[len(all)/2].value
	}
	fractional := slices.ContainsFunc(all, func(s sampled) bool { return s.fractional })
	switch {
	case fractional && median < leastNotSeconds:
		return Unit(time.Second)
	case median < leastNotMillis:
		return Unit(time.Millisecond)
	case median < leastNotMicros:
		return Unit(time.Microsecond)
	}
	return Unit(time.Nanosecond)
}

func (p *jsonLines) durations() string {
	if p.from == nil {
		return ""
	}
	return fmt.Sprintf("field %s, in %s unless a value has its unit", p.from.name, p.unitOf(p.from))
}

// role is what a field of a JSON line is for.
type role uint8

const (
	roleTime role = iota
	roleMethod
	rolePath
	roleRequest // method and path in one line
	roleStatus
	roleDuration
	roles
)

var roleNames = [roles]string{"time", "method", "path", "request", "status", "duration"}

// field is a field that a line may have. Of those of one role the first in the list that a
// line has is used.
type field struct {
	name  string // full name: a nested field's has dots
	role  role
	rank  int  // among all fields
	unit  Unit // unit of a duration; 0: settled by a sample
	start bool // the time is when the request began, not when it was logged
}

// usual are the fields of the usual logs by their roles: nginx (as examples of log_format have
// them), Caddy, Envoy, Traefik, Google Cloud's load balancers, the Elastic Common Schema.
var usual = [roles][]field{
	roleTime: append([]field{{name: "start_time", start: true}, {name: "StartUTC", start: true}}, // Envoy, Traefik
		named(0, "msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "ts", "time", "datetime", "date")...),
	roleMethod:  named(0, "request_method", "request.method", "httpRequest.requestMethod", "http.request.method", "RequestMethod", "http_method", "method", "verb"),
	rolePath:    named(0, "request_uri", "request.uri", "httpRequest.requestUrl", "url.original", "RequestPath", "url.path", "uri", "path", "url"),
	roleRequest: named(0, "request", "request_line"),
	roleStatus:  named(0, "httpRequest.status", "http.response.status_code", "DownstreamStatus", "response_code", "status", "status_code", "statusCode"),
	roleDuration: slices.Concat(
		named(time.Second, "request_time"), named(0, "httpRequest.latency"), named(time.Nanosecond, "Duration", "event.duration"),
		named(time.Millisecond, "duration_ms", "latency_ms", "response_time_ms"), named(0, "duration", "latency", "response_time", "elapsed"),
	),
}

// named are fields of names; unit is that of a duration.
func named(unit time.Duration, names ...string) (all []field) {
	for _, name := range names {
		all = append(all, field{name: name, unit: Unit(unit)})
	}
	return all
}

// ParseField reads ROLE=NAME: which field of a JSON line has a role.
func ParseField(text string) (role, name string, err error) {
	role, name, ok := strings.Cut(text, "=")
	if !ok || name == "" || !slices.Contains(roleNames[:], role) {
		return "", "", fmt.Errorf("field %q is not ROLE=NAME, where the role is one of %s", text, strings.Join(roleNames[:], ", "))
	}
	return role, name, nil
}

// fieldsOf are the usual fields, but those of a role for which another name was given.
func fieldsOf(given map[string]string) []field {
	var named, all []field
	for i, name := range roleNames {
		switch r := role(i); {
		case given[name] != "":
			named = append(named, field{name: given[name], role: r})
		case r == roleRequest && given["path"] != "", r == rolePath && given["request"] != "":
		default:
			for _, f := range usual[r] {
				f.role = r
				all = append(all, f)
			}
		}
	}
	return append(named, all...)
}
