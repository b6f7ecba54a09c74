package accesslog

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// Unit is the unit of a request's time in a log, in ns; 0: by what the log looks like.
type Unit int64

// ParseUnit reads s, ms, us or ns.
func ParseUnit(text string) (Unit, error) {
	switch text {
	case "s":
		return Unit(time.Second), nil
	case "ms":
		return Unit(time.Millisecond), nil
	case "us", "µs":
		return Unit(time.Microsecond), nil
	case "ns":
		return Unit(time.Nanosecond), nil
	}
	return 0, fmt.Errorf("unit %q is not s, ms, us or ns", text)
}

func (u Unit) String() string {
	switch time.Duration(u) {
	case time.Second:
		return "s"
	case time.Millisecond:
		return "ms"
	case time.Microsecond:
		return "µs"
	case time.Nanosecond:
		return "ns"
	}
	return ""
}

// longest is the longest time that a request may have taken, in µs: a longer one is no time
// of a request, or has another unit.
const longest = int64(24 * time.Hour / time.Microsecond)

// decimal reads 12 or 0.012. Other forms of a number, such as 1e3, are none of its.
func decimal(b []byte) (v float64, fractional, ok bool) {
	whole := b
	if i := bytes.IndexByte(b, '.'); i >= 0 {
		whole, fractional = b[:i], true
		b = b[i+1:]
		if len(b) == 0 || len(b) > 18 {
			return 0, false, false
		}
		n, ok := digits(b)
		if !ok {
			return 0, false, false
		}
		v = float64(n)
		for range b {
			v /= 10
		}
	}
	n, ok := digits(whole)
	return v + float64(n), fractional, ok
}

// micros is a time in µs; NoLatency if it cannot be the time of a request.
func micros(v float64, unit Unit) int64 {
	us := v * float64(unit) / float64(time.Microsecond)
	if !(us >= 0 && us <= float64(longest)) {
		return NoLatency
	}
	return int64(us + 0.5)
}

// suffixed reads a time with its unit, as in GCP's logs and those of Go programs: 0.012s,
// 12.5ms, 1m2.5s.
func suffixed(b []byte) int64 {
	if len(b) == 0 || len(b) > 32 || b[len(b)-1] != 's' {
		return NoLatency
	}
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return NoLatency
	}
	return micros(float64(d), Unit(time.Nanosecond))
}

// scientific reads a number in the syntax of JSON.
func scientific(b []byte) (v float64, fractional, ok bool) {
	if v, fractional, ok = decimal(b); ok {
		return v, fractional, true
	}
	if len(b) > 32 {
		return 0, false, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, true, err == nil && v >= 0
}
