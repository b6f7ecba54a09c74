package model

import (
	"math"
	"slices"
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
