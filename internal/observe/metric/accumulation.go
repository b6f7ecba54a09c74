// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Bounds on what is kept of foreign senders over a run.
const (
	maxForeignSeries  = 1 << 14
	maxForeignBuckets = 1 << 22 // buckets of all cumulative histograms together
	maxForeignRanges  = 1 << 12 // distinct explicit buckets: those of a merged histogram
	maxClockError     = time.Hour
	maxInterval       = 24 * 60 * 60 // s; longer ones are cut, which no run's windows can notice
)

// Accumulation makes frames of the points of foreign senders. It keeps the last totals of
// each cumulative series, and turns further ones into increases:
//
//   - the first total of a series counts whole if the sender began to count during the
//     run, or if an earlier export of the same metric did not hold the series; else it is
//     only the base of the later ones;
//   - a total below the last one is the first since a restart, and counts whole;
//   - repeated points are ignored, and so are totals older than the last one.
//
// Levels (gauges, and sums that may decrease) are gauges with the label
// service.instance.id, so that the instances of a service do not replace each other.
//
// A point counts for the interval since the one before it. An accumulation keeps a bounded
// number of series. It is not safe for concurrent use.
type Accumulation struct {
	opened   uint64 // unix ns
	series   map[digest]total
	streams  map[digest]stream
	buckets  int // buckets in all totals
	ranges   map[[2]float64]bool
	reported refusals
}

// NewAccumulation makes one for a run whose receiver was opened at this time.
func NewAccumulation(opened time.Time) *Accumulation {
	return &Accumulation{opened: uint64(max(opened.UnixNano(), 0)), series: map[digest]total{}, streams: map[digest]stream{}, ranges: map[[2]float64]bool{}}
}

// total is the state of a series after its last point.
type total struct {
	points uint64       // number of points so far
	end    uint64       // end of the latest point, unix ns
	value  float64      // value of a cumulative counter
	hist   *Hist        // state of a cumulative histogram
	recent [4][2]uint64 // intervals of the latest increases, if the series is not cumulative
}

// stream is when a metric was exported last, and before that; unix ns, 0: not.
type stream struct{ last, before uint64 }

// increase is a point over the interval (since, end].
type increase struct {
	since, end uint64
	point      Point
}

// errBase: a total is only the base of later ones. errRepeated: it was received before, or
// is part of one that was.
var errBase, errRepeated = errors.New("base"), errors.New("repeated")

// refused is an error with one of the reasons.
type refused struct {
	error
	reason string
}

// advance compares a point with the last one of its series, before, which does not exist
// where known is false; exported is when its stream was exported before. It returns the
// new total and the increase. With errBase the total is new, but there is no increase;
// with other errors the point is to be left out.
func (a *Accumulation) advance(p measured, before total, known bool, exported stream) (after total, up increase, err error) {
	after = total{points: before.points + 1, end: max(before.end, p.end), recent: before.recent}
	up = increase{since: before.end, end: p.end, point: p.point}
	// outdated is the error of a point that is not newer than the last one, whose total holds all
	// that an older total does; nil: the point is newer.
	var outdated error
	if known && p.end <= before.end {
		outdated = errRepeated
	}
	switch {
	case p.point.Kind == Gauge:
		up.since, err = p.end-1, outdated
	case p.cumulative:
		after.value, after.hist = p.point.Value, p.point.Hist
		if err = outdated; known {
			up.subtract(before)
		} else {
			up.since, err = a.begin(p, exported)
		}
	default:
		switch {
		case p.start > 0:
			up.since = p.start
		case known:
			err = outdated
		default:
			err = errBase
		}
		interval := [2]uint64{up.since, p.end}
		if slices.Contains(before.recent[:], interval) {
			err = errRepeated
		}
		copy(after.recent[1:], before.recent[:])
		after.recent[0] = interval
	}
	switch {
	case err != nil:
	case up.since > p.end:
		err = refused{errors.New("it ends before its start"), reasonTime}
	case p.point.Kind == Counter && checkCount(up.point.Value) != nil:
		err = refused{fmt.Errorf("an increase by %g", up.point.Value), reasonValue}
	}
	return after, up, err
}

// begin is since when the first total of a series counts.
func (a *Accumulation) begin(p measured, exported stream) (since uint64, err error) {
	earlier := exported.last
	if earlier >= p.end { // another point of the same export
		earlier = exported.before
	}
	switch {
	case earlier > 0 && earlier < p.end:
		return max(p.start, earlier), nil
	case p.start >= a.opened:
		return p.start, nil
	}
	return 0, errBase
}

// subtract makes the point the increase since a total. Where it is smaller, the sender
// counts anew.
func (u *increase) subtract(before total) {
	if u.point.Kind == Counter {
		if u.point.Value >= before.value {
			u.point.Value -= before.value
		}
		return
	}
	if since, ok := u.point.Hist.since(before.hist); ok {
		u.point.Hist = since
	}
}

// seconds are the unix seconds that the interval touches.
func (u increase) seconds() (first, last int64) {
	last = int64((u.end - 1) / uint64(nanos))
	first = min(int64(u.since/uint64(nanos)), last)
	return max(first, last-maxInterval+1), last
}

// since is the increase of a cumulative histogram since an earlier state; false where
// that state holds what h does not.
func (h *Hist) since(before *Hist) (*Hist, bool) {
	d, b := h.Clone(), before
	if d.coarse < b.coarse {
		d.coarsen(b.Scale())
	} else if d.coarse > b.coarse {
		b = b.Clone()
		b.coarsen(d.Scale())
	}
	for i, n := range b.counts {
		at := b.offset + i - d.offset
		switch {
		case n == 0:
		case at < 0 || at >= len(d.counts) || d.counts[at] < n:
			return nil, false
		default:
			d.counts[at] -= n
		}
	}
	ranges, ok := subtractRanges(d.ranges(), b.ranges())
	if !ok || d.zero < b.zero || d.total < b.total {
		return nil, false
	}
	d.zero, d.total, d.sum, d.bounds = d.zero-b.zero, d.total-b.total, d.sum-b.sum, nil
	if d.total == 0 {
		return &Hist{}, true
	}
	if len(ranges) > 0 {
		d.bounds = &bounds{ranges: ranges}
	}
	first, last, used := d.used()
	if used {
		d.counts, d.offset = d.counts[first:last+1:last+1], d.offset+first
	} else {
		d.counts, d.offset = nil, 0
	}
	// The extremes of all observations are those of the new ones only if they have
	// changed.
	now, then := h.extremes(), before.extremes()
	d.completeExtremes(histInfo{hasMin: now.lowest == h.min && h.min < then.lowest, hasMax: now.highest == h.max && h.max > then.highest})
	return d, d.check() == nil
}

// subtractRanges is now without before; false where now does not hold all of before.
func subtractRanges(now, before []Range) (rest []Range, ok bool) {
	for _, r := range now {
		if len(before) > 0 && compareRanges(before[0], r) == 0 {
			if before[0].Count > r.Count {
				return nil, false
			}
			r.Count -= before[0].Count
			before = before[1:]
		}
		if r.Count > 0 {
			rest = append(rest, r)
		}
	}
	return rest, len(before) == 0
}
