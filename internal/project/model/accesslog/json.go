package accesslog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonLines parses lines that are an object of JSON each.
type jsonLines struct {
	zone   *time.Location
	unit   Unit // of every duration; 0: of each field its own
	auto   Unit // of fields whose unit is not known
	fields map[string]*field
	nested map[string]bool // names of objects that hold some

	input   bytes.Buffer
	decoder *jsontext.Decoder
	name    []byte // of the field that is read
	found   [roles]found
	from    *field // that of the last duration; nil: there was none
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

// unitOf is the unit of a field's numbers.
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

// durations says where the requests' times come from.
func (p *jsonLines) durations() string {
	if p.from == nil {
		return ""
	}
	return fmt.Sprintf("field %s, in %s unless a value has its unit", p.from.name, p.unitOf(p.from))
}
