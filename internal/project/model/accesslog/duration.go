package accesslog

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is the unit of a request's time in a log, in ns; 0: by what the log looks like.
type Unit int64

// ParseUnit reads s, ms, us or ns.
func ParseUnit(text string) (Unit, error) {
	if !slices.Contains([]string{"s", "ms", "us", "µs", "ns"}, text) {
		return 0, fmt.Errorf("unit %q is not s, ms, us or ns", text)
	}
	unit, err := time.ParseDuration("1" + text)
	return Unit(unit), err
}

func (u Unit) String() string { return strings.TrimPrefix(time.Duration(u).String(), "1") }

// longest is the longest time that a request may have taken, in µs: a longer one is no time
// of a request, or has another unit.
const longest = int64(24 * time.Hour / time.Microsecond)

// decimal reads 12 or 0.012. Other forms of a number, such as 1e3, are none of its.
func decimal(b []byte) (v float64, fractional, ok bool) {
	point := bytes.IndexByte(b, '.')
	if len(b) == 0 || len(bytes.TrimLeft(b, ".0123456789")) > 0 || point == 0 || point == len(b)-1 {
		return 0, false, false
	}
	return number(b)
}

// number reads a number in the syntax of JSON.
func number(b []byte) (v float64, fractional, ok bool) {
	if len(b) > 32 {
		return 0, false, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, bytes.ContainsAny(b, ".eE"), err == nil && v >= 0
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
	d, err := time.ParseDuration(string(b))
	if len(b) > 32 || err != nil {
		return NoLatency
	}
	return micros(float64(d), Unit(time.Nanosecond))
}
