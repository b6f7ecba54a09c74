package model

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/project/model/traffic"
)

const (
	secondsOfMinute = 60
	// A gap is at least shortestGap seconds without a request, in which at least
	// expectedInGap were expected: by chance, that happens once in 10^13 times.
	shortestGap, expectedInGap = 60, 30
	// fewestDispersed is the number of requests of a minute below which their dispersion says
	// little.
	fewestDispersed = 30
)

// span is seconds of a series, [from, to).
type span struct{ from, to int }

func (s span) seconds() int { return s.to - s.from }

// gapsOf finds the gaps in the requests of each second.
func gapsOf(seconds []uint32) (gaps []span) {
	requests, rest := float64(sumOf(seconds)), float64(len(seconds))
	for from := 0; from < len(seconds); from++ {
		to := from
		for to < len(seconds) && seconds[to] == 0 {
			to++
		}
		if to-from >= shortestGap {
			gaps = append(gaps, span{from, to})
			rest -= float64(to - from)
		}
		from = to
	}
	return slices.DeleteFunc(gaps, func(g span) bool { return float64(g.seconds())*requests/rest < expectedInGap })
}

// peak is the most requests of some consecutive seconds.
type peak struct {
	at       int // the first second
	seconds  int
	requests uint64
}

func (p peak) rate() float64 { return float64(p.requests) / float64(p.seconds) }

// peakOf finds the busiest length seconds, or the whole series if it is shorter; the first
// of several.
func peakOf(seconds []uint32, length int) peak {
	length = min(length, len(seconds))
	sum := uint64(0)
	best := peak{seconds: length}
	for i, n := range seconds {
		sum += uint64(n)
		if i >= length {
			sum -= uint64(seconds[i-length])
		}
		if i+1 >= length && sum > best.requests {
			best.at, best.requests = i+1-length, sum
		}
	}
	return best
}

// dispersionOf is the index of dispersion of requests per second, variance / mean, over the
// seconds of a minute: the median over minutes, so that a change of the rate within a few of
// them does not count. Of Poisson arrivals it is 1. False: no minute has enough requests.
func dispersionOf(seconds []uint32) (float64, bool) {
	var all []float64
	for from := 0; from+secondsOfMinute <= len(seconds); from += secondsOfMinute {
		sum, squares := 0.0, 0.0
		for _, n := range seconds[from : from+secondsOfMinute] {
			sum += float64(n)
			squares += float64(n) * float64(n)
		}
		if sum >= fewestDispersed {
			variance := (squares - sum*sum/secondsOfMinute) / (secondsOfMinute - 1)
			all = append(all, variance*secondsOfMinute/sum)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

func sumOf(seconds []uint32) (n uint64) {
	for _, of := range seconds {
		n += uint64(of)
	}
	return n
}

// significant rounds to four digits: a rate of a profile is within 0.05 % of what was
// measured.
func significant(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	if unit < 1 { // dividing by a power of ten is exact
		return math.Round(v*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(v/unit) * unit
}

const (
	// longestWindow is the longest time that is looked at: what is different on another day
	// is no part of a match day.
	longestWindow = 24 * time.Hour
	// LongestGiven is the longest time that may be asked for: all seconds of it are in memory,
	// for each flow.
	LongestGiven = 7 * 24 * time.Hour
	// Requests of minutes at the ends that are strayTime away from all others, and fewer than
	// strayShare of all, have wrong times.
	strayTime, strayShare = time.Hour, 0.001
)

// WindowOf chooses the time of a log that is looked at, [from, to) in seconds since 1970: all
// of it or, if it is longer than a day, the 12 hours before and after the busiest minute. It returns
// also how many requests are outside. Without minutes it is empty.
func WindowOf(minutes []traffic.Minute) (from, to int64, outside uint64) {
	whole := uint64(0)
	for _, m := range minutes {
		whole += m.Requests
	}
	kept := withoutStrays(minutes, whole)
	if len(kept) == 0 {
		return 0, 0, 0
	}
	busiest := Busiest(kept)
	from, to = kept[0].Start, kept[len(kept)-1].Start+secondsOfMinute
	if day := int64(longestWindow / time.Second); to-from > day {
		from, to = max(from, busiest.Start-day/2), min(to, busiest.Start+day/2)
	}
	outside = whole
	for _, m := range kept {
		if m.Start >= from && m.Start < to {
			outside -= m.Requests
		}
	}
	return from, to, outside
}

// Busiest is the minute with the most requests, the first of several; there is at least one
// minute.
func Busiest(minutes []traffic.Minute) traffic.Minute {
	return slices.MaxFunc(minutes, func(a, b traffic.Minute) int { return cmp.Compare(a.Requests, b.Requests) })
}

// withoutStrays leaves out the minutes at both ends that have wrong times.
func withoutStrays(minutes []traffic.Minute, whole uint64) []traffic.Minute {
	kept := slices.Clone(minutes)
	for range 2 { // from the start, and from the end
		strays, n := 0, uint64(0)
		for i := 0; i+1 < len(kept); i++ {
			if n += kept[i].Requests; n > uint64(strayShare*float64(whole)) {
				break
			}
			if away := time.Duration(kept[i+1].Start-kept[i].Start) * time.Second; away.Abs() > strayTime {
				strays = i + 1
			}
		}
		kept = kept[strays:]
		slices.Reverse(kept)
	}
	return kept
}
