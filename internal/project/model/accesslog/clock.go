package accesslog

import (
	"bytes"
	"time"
)

// The times that a log may have: others are mistakes, or not times at all.
var (
	earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// instant is a time of a log.
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

// digits reads a number of at most 18 digits, which has no other characters.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
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

// commonTime reads the time of the Common Log Format: 10/Oct/2000:13:55:36 -0700.
func commonTime(b []byte) (instant, bool) {
	if len(b) != len("10/Oct/2000:13:55:36 -0700") || b[2] != '/' || b[6] != '/' || b[11] != ':' || b[20] != ' ' {
		return instant{}, false
	}
	day, ok := digits(b[:2])
	year, ok2 := digits(b[7:11])
	clock, ok3 := clockOf(b[12:20])
	zone, ok4 := offset(b[21:])
	month := monthOf(b[3:6])
	if !ok || !ok2 || !ok3 || !ok4 {
		return instant{}, false
	}
	date, ok := dateOf(year, month, day)
	t := instant{(date + clock - zone) * 1e6, true}
	return t, ok && t.valid()
}

// isoTime reads 2024-05-18T19:42:07.123+05:30. T may be a space; fraction and zone may be
// missing.
func isoTime(b []byte, zone *time.Location) (instant, bool) {
	const seconds = len("2024-05-18T19:42:07")
	if len(b) < seconds || b[7] != '-' || b[10] != 'T' && b[10] != ' ' {
		return instant{}, false
	}
	year, ok := digits(b[:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	clock, ok4 := clockOf(b[11:seconds])
	if !ok || !ok2 || !ok3 || !ok4 {
		return instant{}, false
	}
	date, ok := dateOf(year, month, day)
	if !ok {
		return instant{}, false
	}
	micros, rest, whole := fraction(b[seconds:])
	t := instant{(date+clock)*1e6 + micros, whole}
	switch rest = bytes.TrimPrefix(rest, []byte(" ")); {
	case len(rest) == 0:
		local := time.Date(int(year), time.Month(month), int(day), 0, 0, int(clock), 0, zone)
		t.micros = local.UnixMicro() + micros
	case string(rest) != "Z":
		east, ok := offset(rest)
		if !ok {
			return instant{}, false
		}
		t.micros -= east * 1e6
	}
	return t, t.valid()
}

// fraction reads a fraction of a second as µs, and returns what follows it; whole: there is
// none.
func fraction(b []byte) (micros int64, rest []byte, whole bool) {
	if len(b) == 0 || b[0] != '.' && b[0] != ',' {
		return 0, b, true
	}
	unit := int64(100_000)
	for b = b[1:]; len(b) > 0 && b[0] >= '0' && b[0] <= '9'; b = b[1:] {
		micros += int64(b[0]-'0') * unit
		unit /= 10
	}
	return micros, b, false
}

// epoch reads a time since 1970 in s, ms, µs or ns: within the years of logs, the number of
// digits tells which.
func epoch(b []byte) (instant, bool) {
	whole := b
	if i := bytes.IndexByte(b, '.'); i >= 0 {
		whole = b[:i]
	}
	if len(whole) == 19 { // more digits than digits reads
		whole, b = whole[:16], whole[:16]
	}
	n, ok := digits(whole)
	if !ok {
		return instant{}, false
	}
	var t instant
	switch len(whole) {
	case 9, 10:
		micros, rest, none := fraction(b[len(whole):])
		if len(rest) > 0 {
			return instant{}, false
		}
		t = instant{n*1e6 + micros, none}
	case 12, 13:
		t = instant{n * 1e3, false}
	case 15, 16:
		t = instant{n, false}
	default:
		return instant{}, false
	}
	return t, t.valid()
}

// clockOf reads 13:55:36 as seconds of a day. A leap second is allowed.
func clockOf(b []byte) (int64, bool) {
	hour, ok := digits(b[0:2])
	minute, ok2 := digits(b[3:5])
	second, ok3 := digits(b[6:8])
	ok = ok && ok2 && ok3 && b[2] == ':' && b[5] == ':' && hour < 24 && minute < 60 && second <= 60
	return hour*3600 + minute*60 + second, ok
}

// offset reads -0700 or -07:00 as seconds east of UTC.
func offset(b []byte) (int64, bool) {
	if len(b) == 6 && b[3] == ':' {
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	}
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hours, ok := digits(b[1:3])
	minutes, ok2 := digits(b[3:5])
	if !ok || !ok2 || hours > 15 || minutes > 59 {
		return 0, false
	}
	east := hours*3600 + minutes*60
	if b[0] == '-' {
		east = -east
	}
	return east, true
}

func monthOf(b []byte) int64 {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if b[0] == names[i] && b[1] == names[i+1] && b[2] == names[i+2] {
			return int64(i/3) + 1
		}
	}
	return 0
}

// dateOf is the start of a day of the Gregorian calendar, in seconds since 1970; false if
// there is no such day.
func dateOf(year, month, day int64) (int64, bool) {
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	last := int64(31)
	switch month {
	case 4, 6, 9, 11:
		last = 30
	case 2:
		last = 28
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			last = 29
		}
	}
	// Days of years that begin in March, in eras of 400 years: H. Hinnant,
	// "chrono-Compatible Low-Level Date Algorithms".
	y, m := year, month-3
	if month < 3 {
		y, m = y-1, m+12
	}
	era := y / 400
	inEra := y - era*400
	days := era*146097 + inEra*365 + inEra/4 - inEra/100 + (153*m+2)/5 + day - 1 - 719468
	return days * 86400, day <= last
}
