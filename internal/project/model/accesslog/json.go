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
	fields []field
	rank   map[string]int  // of a field in fields
	nested map[string]bool // names of objects that hold some

	input   bytes.Buffer
	decoder *jsontext.Decoder
	name    []byte // of the field that is read
	found   [roles]found
	from    int // the field of the last duration; -1: there was none
	// sampled are durations of unknown unit, where a sample is read.
	sampled *[]sampled
}

// found is the value of a role in the current line.
type found struct {
	rank int // -1: none
	raw  []byte
	text []byte // memory for unescaped strings
}

type sampled struct {
	value      float64
	fractional bool
}

func newJSON(o Options) *jsonLines {
	p := &jsonLines{zone: o.zone(), unit: o.Unit, auto: o.auto, fields: fieldsOf(o.Fields), rank: map[string]int{}, nested: map[string]bool{}, from: -1}
	for i, f := range slices.Backward(p.fields) {
		p.rank[f.name] = i
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
		p.found[i].rank = -1
	}
	if p.decoder.PeekKind() != jsontext.KindBeginObject || !p.object(p.name[:0]) {
		return NotJSON
	}
	if p.decoder.PeekKind() != jsontext.KindInvalid { // something follows the object
		return NotJSON
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
		rank, ours := p.rank[string(name)]
		raw, err := p.decoder.ReadValue()
		if err != nil {
			return false
		}
		if ours {
			p.keep(rank, raw)
		}
	}
}

// keep stores the value of a field unless a better one is known.
func (p *jsonLines) keep(rank int, raw []byte) {
	f := &p.found[p.fields[rank].role]
	if f.rank >= 0 && f.rank <= rank {
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
	f.rank, f.raw = rank, raw
}

// entry makes the entry of what was found.
func (p *jsonLines) entry(e *Entry) Problem {
	when := p.found[roleTime]
	if when.rank < 0 {
		return NoTime
	}
	at, ok := anyTime(when.raw, p.zone)
	if !ok {
		return NoTime
	}
	status := p.found[roleStatus]
	if status.rank < 0 {
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
	case path.rank >= 0 && method.rank >= 0:
		if e.Method, ok = methodOf(method.raw); !ok {
			return NoPath
		}
		problem = e.setTarget(path.raw)
	case line.rank >= 0:
		problem = e.setRequestLine(line.raw)
	}
	if problem != None {
		return problem
	}
	e.Latency, e.At = p.latency(), at.micros
	if !p.fields[when.rank].start {
		e.At = at.arrival(e.Latency)
	}
	return None
}

func (p *jsonLines) latency() int64 {
	took := p.found[roleDuration]
	if took.rank < 0 {
		return NoLatency
	}
	p.from = took.rank
	v, fractional, ok := scientific(took.raw)
	if !ok {
		return suffixed(took.raw)
	}
	if p.sampled != nil && p.unit == 0 && p.fields[took.rank].unit == 0 {
		*p.sampled = append(*p.sampled, sampled{v, fractional})
	}
	return micros(v, p.unitOf(took.rank))
}

// unitOf is the unit of a field's numbers.
func (p *jsonLines) unitOf(rank int) Unit {
	return cmp.Or(p.unit, p.fields[rank].unit, p.auto)
}

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
	if p.from < 0 {
		return ""
	}
	return fmt.Sprintf("field %s, in %s unless a value has its unit", p.fields[p.from].name, p.unitOf(p.from))
}
