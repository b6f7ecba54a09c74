package model

import (
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
	busiest := minutes[0]
	for _, m := range minutes {
		if m.Requests > busiest.Requests {
			busiest = m
		}
	}
	return busiest
}

// withoutStrays leaves out the minutes at both ends that have wrong times.
func withoutStrays(minutes []traffic.Minute, whole uint64) []traffic.Minute {
	most := uint64(strayShare * float64(whole))
	away := int64(strayTime / time.Second)
	first, last := 0, len(minutes)
	for i, n := 0, uint64(0); i+1 < len(minutes); i++ {
		if n += minutes[i].Requests; n > most {
			break
		}
		if minutes[i+1].Start-minutes[i].Start > away {
			first = i + 1
		}
	}
	for i, n := len(minutes)-1, uint64(0); i > first; i-- {
		if n += minutes[i].Requests; n > most {
			break
		}
		if minutes[i].Start-minutes[i-1].Start > away {
			last = i
		}
	}
	return minutes[first:last]
}
