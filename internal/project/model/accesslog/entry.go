package accesslog

import (
	"bytes"
	"strconv"
)

// Method is the method of a request.
type Method uint8

// The methods. OTHER is any that k6 has no function for.
const (
	GET Method = iota
	HEAD
	OPTIONS
	POST
	PUT
	PATCH
	DELETE
	OTHER
)

// Methods is their number.
const Methods = int(OTHER) + 1

var methodNames = [Methods]string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "OTHER"}

func (m Method) String() string { return methodNames[m] }

// Safe reports whether a request by this method asks for no change (RFC 9110, 9.2.1).
func (m Method) Safe() bool { return m <= OPTIONS }

// longestMethod is the longest name of a method, in bytes, of those that IANA has
// registered (UPDATEREDIRECTREF).
const longestMethod = 17

// methodOf reads the name of a method: upper-case letters and hyphens, as all that are
// registered have.
func methodOf(name []byte) (Method, bool) {
	if len(name) == 0 || len(name) > longestMethod {
		return 0, false
	}
	for i, known := range methodNames[:OTHER] {
		if string(name) == known {
			return Method(i), true
		}
	}
	for _, c := range name {
		if (c < 'A' || c > 'Z') && c != '-' {
			return 0, false
		}
	}
	return OTHER, true
}

// NoLatency is the latency of a request whose line has none.
const NoLatency = -1

// Entry is one request.
type Entry struct {
	At      int64 // when it arrived, µs since 1970 in UTC, to the precision of the log
	Latency int64 // µs; NoLatency: the line has none
	Status  int   // HTTP status, 100 to 999; 0: nothing was sent
	Method  Method
	Target  []byte // path and query, which begin with '/'; valid until the next line
}

// Problem is why a line gives no Entry.
type Problem uint8

// The problems.
const (
	None Problem = iota
	// NoPath is a line of the format whose request has no path: a connection without a
	// request, or bytes that are none. It is no load of an endpoint.
	NoPath
	NoTime    // no time, or one that does not exist or is not within 1990 to 2099
	NoRequest // no request line, or no target
	NoStatus
	NotJSON // no object of JSON
	NoType  // not one of the types of connection that a load balancer logs
	TooLong // longer than a reader takes; no parser returns it
)

// Problems is their number, with None.
const Problems = int(TooLong) + 1

func (p Problem) String() string {
	return [...]string{"", "no path", "no time", "no request", "no status", "not an object of JSON", "no type of connection", "too long"}[p]
}

// Parser parses lines of one format. It is not safe for concurrent use.
type Parser interface {
	// Parse sets all fields of e unless it returns a problem.
	Parse(line []byte, e *Entry) Problem
	// durations says where the requests' times came from; empty: there were none.
	durations() string
}

// setRequestLine sets method and target from a request line: GET /path HTTP/1.1.
func (e *Entry) setRequestLine(line []byte) Problem {
	space := bytes.IndexByte(line, ' ')
	if space < 0 {
		return NoPath
	}
	method, ok := methodOf(line[:space])
	if !ok {
		return NoPath
	}
	target := line[space+1:]
	if end := bytes.LastIndexByte(target, ' '); end >= 0 && bytes.HasPrefix(target[end+1:], []byte("HTTP/")) {
		target = target[:end]
	}
	e.Method = method
	return e.setTarget(target)
}

// setTarget sets the target, of which it removes scheme, host and fragment.
func (e *Entry) setTarget(target []byte) Problem {
	if i := bytes.Index(target, []byte("://")); i > 0 && target[0] != '/' {
		target = target[i+3:]
		i = bytes.IndexAny(target, "/?")
		switch {
		case i < 0:
			target = []byte("/")
		case target[i] == '?': // a URL without a path
			return NoPath
		default:
			target = target[i:]
		}
	}
	if len(target) == 0 || target[0] != '/' {
		return NoPath // CONNECT, OPTIONS *
	}
	if i := bytes.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	e.Target = target
	return None
}

// setStatus reads three digits; nginx writes 000 where it sent nothing.
func (e *Entry) setStatus(b []byte) bool {
	n, err := strconv.Atoi(string(b))
	e.Status = n
	return len(b) == 3 && err == nil && (n == 0 || n >= 100)
}
