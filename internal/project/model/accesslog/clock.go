package accesslog

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The times that a log may have: others are mistakes, or not times at all.
var (
	earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

type instant struct {
	micros  int64 // since 1970 in UTC
	seconds bool  // it has no fraction of a second
}

func (t instant) valid() bool { return t.micros >= earliest && t.micros < latest }

// arrival is when a request arrived that ended at t: of a time in whole seconds, the most
// likely second.
func (t instant) arrival(latency int64) int64 {
	switch {
	case latency <= 0:
		return t.micros
	case t.seconds:
		return t.micros - (latency+500_000)/1_000_000*1_000_000
	}
	return t.micros - latency
}

// anyTime reads a time in one of the forms of logs: 10/Oct/2000:13:55:36 -0700, ISO 8601,
// or a number since 1970, of which the digits tell the unit. A time without a zone is of
// zone.
func anyTime(b []byte, zone *time.Location) (instant, bool) {
	switch {
	case len(b) > 2 && b[2] == '/':
		return commonTime(b)
	case len(b) > 4 && b[4] == '-':
		return isoTime(b, zone)
	}
	return epoch(b)
}

func timeIn(layout string, b []byte, zone *time.Location) (instant, bool) {
	text, leap := string(b), time.Duration(0)
	if i := bytes.Index(b, []byte(":60")); i >= 5 && b[i-3] == ':' { // a leap second
		text, leap = text[:i]+":59"+text[i+3:], time.Second
	}
	at, err := time.ParseInLocation(layout, text, zone)
	t := instant{at.Add(leap).UnixMicro(), !bytes.ContainsAny(b, ".,")}
	return t, err == nil && t.valid()
}

const commonLayout = "02/Jan/2006:15:04:05 -0700"

// commonTime reads the time of the Common Log Format: 10/Oct/2000:13:55:36 -0700.
func commonTime(b []byte) (instant, bool) { return timeIn(commonLayout, b, time.UTC) }

// isoTime reads 2024-05-18T19:42:07.123+05:30. T may be a space; fraction and zone may be
// missing, and a space may stand before the zone.
func isoTime(b []byte, zone *time.Location) (instant, bool) {
	layout := "2006-01-02T15:04:05"
	if len(b) < len(layout) {
		return instant{}, false
	}
	east := bytes.TrimLeft(b[len(layout):], ".,0123456789")
	if b[10] == ' ' {
		layout = "2006-01-02 15:04:05"
	}
	if bytes.HasPrefix(east, []byte(" ")) {
		layout, east = layout+" ", east[1:]
	}
	switch len(east) {
	case 0:
	case len("+0530"):
		layout += "Z0700"
	default:
		layout += "Z07:00"
	}
	return timeIn(layout, b, zone)
}

// epochDigits are the numbers of digits that times since 1970 have in s, ms, µs and ns
// within the years of logs, with that unit in µs.
var epochDigits = map[int]float64{9: 1e6, 10: 1e6, 12: 1e3, 13: 1e3, 15: 1, 16: 1, 18: 1e-3, 19: 1e-3}

// epoch reads a time since 1970: its number of digits tells the unit.
func epoch(b []byte) (instant, bool) {
	whole, _, fractional := bytes.Cut(b, []byte("."))
	unit, known := epochDigits[len(whole)]
	v, _, ok := decimal(b)
	t := instant{int64(math.Round(v * unit)), unit == 1e6 && !fractional}
	return t, known && ok && t.valid()
}

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
	if len(b) == 0 || len(b) > 32 || b[len(b)-1] != 's' {
		return NoLatency
	}
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return NoLatency
	}
	return micros(float64(d), Unit(time.Nanosecond))
}
