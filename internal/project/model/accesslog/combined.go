package accesslog

import (
	"bytes"
	"cmp"
	"time"
)

// combined parses the Combined and Common Log Formats of nginx and Apache:
//
//	192.0.2.7 - - [18/May/2024:19:42:07 +0530] "GET /a?b=c HTTP/1.1" 200 5316 "-" "agent" 0.012
//
// What stands before the time does not matter, as a virtual host does. After the user agent
// there may be the time that the request took: the first number with a point (nginx's
// $request_time, in s), or rt=0.012 or request_time=0.012 (whole numbers there are ms). If a
// unit is given, it may also be a whole number that is the line's last word (Apache's %D);
// without, such a number may be anything, as the bytes of Apache's combinedio are.
type combined struct {
	unit Unit // 0: none is given

	from Unit // the unit of the last time of a request; 0: there was none
	last bool // the time was the line's last word, not a number with a point

	text []byte  // the time of the last line: many lines have the same
	at   instant // what that text says
}

// timesTried is how many brackets may stand before that of the time: a user's name may have
// some.
const timesTried = 8

func (p *combined) Parse(line []byte, e *Entry) Problem {
	at, rest, ok := p.bracketedTime(line)
	if !ok {
		return NoTime
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return NoRequest
	}
	if len(rest) < 4 || rest[0] != ' ' || !e.setStatus(rest[1:4]) || len(rest) > 4 && rest[4] != ' ' {
		return NoStatus
	}
	if problem := e.setRequestLine(request); problem != None {
		return problem
	}
	latency, ended := p.latency(rest[4:])
	e.At, e.Latency = at.micros, latency
	if ended {
		e.At = at.arrival(latency)
	}
	return None
}

// bracketedTime finds [18/May/2024:19:42:07 +0530], and returns what follows it and a
// space.
func (p *combined) bracketedTime(line []byte) (at instant, rest []byte, ok bool) {
	const length = len(commonLayout)
	for range timesTried {
		i := bytes.IndexByte(line, '[')
		if i < 0 {
			break
		}
		line = line[i+1:]
		if len(line) < length+2 || line[length] != ']' || line[length+1] != ' ' {
			continue
		}
		if bytes.Equal(line[:length], p.text) {
			return p.at, line[length+2:], true
		}
		if at, ok = commonTime(line[:length]); ok {
			p.text, p.at = append(p.text[:0], line[:length]...), at
			return at, line[length+2:], true
		}
	}
	return instant{}, nil, false
}

// quoted reads a text in quotes, in which quotes are escaped, and returns what follows it.
func quoted(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	b = b[1:]
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '"')
		if i < 0 {
			return nil, nil, false
		}
		i += from
		if !escaped(b, i) {
			return b[:i], b[i+1:], true
		}
		from = i + 1
	}
}

// escaped reports whether an odd number of backslashes stands before b[i].
func escaped(b []byte, i int) bool {
	n := 0
	for n < i && b[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// latency finds the request's time in what follows the status, and whether the time of the
// line is when the request ended, as nginx writes it, and not when it began, as Apache does.
func (p *combined) latency(rest []byte) (took int64, ended bool) {
	whole := float64(-1) // the last word, if that is a whole number
	first := true        // the size of the response comes first
	for len(rest) > 0 {
		switch rest[0] {
		case ' ':
			rest = rest[1:]
			continue
		case '"':
			var ok bool
			if _, rest, ok = quoted(rest); !ok {
				return NoLatency, false
			}
			first, whole = false, -1
			continue
		}
		word := rest
		if i := bytes.IndexByte(rest, ' '); i >= 0 {
			word, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		if first {
			first = false
			continue
		}
		value, named := cutName(word)
		v, fractional, ok := decimal(value)
		usual := time.Second
		if !fractional {
			usual = time.Millisecond
		}
		switch {
		case ok && (fractional || named):
			if took := micros(v, cmp.Or(p.unit, Unit(usual))); took != NoLatency { // nginx's $msec has a point, too
				p.from, p.last = cmp.Or(p.unit, Unit(usual)), false
				return took, true
			}
		case ok:
			whole = v
		default:
			whole = -1
		}
	}
	if whole < 0 || p.unit == 0 {
		return NoLatency, false
	}
	p.from, p.last = p.unit, true
	return micros(whole, p.unit), false
}

func (p *combined) durations() string {
	switch {
	case p.from == 0:
		return ""
	case p.last:
		return "the last word, in " + p.from.String()
	}
	return "the number with a point after the user agent, in " + p.from.String()
}

// cutName removes the usual names of the request's time from a word.
func cutName(word []byte) (value []byte, ok bool) {
	for _, name := range [][]byte{[]byte("rt="), []byte("request_time=")} {
		if value, ok = bytes.CutPrefix(word, name); ok {
			return bytes.Trim(value, `"`), true
		}
	}
	return word, false
}
