package model

import (
	"cmp"
	"slices"
	"time"

	"assay.dev/assay/internal/project/model/traffic"
)

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
