// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"math"
	"slices"
)

// Range is a bucket between two explicit bounds: Count observations of which only
// Low <= x <= High is known. High may be infinite. Low is 0 for the lowest bucket, whose
// observations may be negative too, like those that Hist counts as zeros.
type Range struct {
	Low, High float64
	Count     uint64
}

// rangeBetween is the range of OTLP's bucket (lower, upper].
func rangeBetween(lower, upper float64, n uint64) Range {
	low := 0.0
	if lower >= 0 {
		low = math.Nextafter(lower, math.Inf(1))
	}
	return Range{Low: low, High: max(upper, 0), Count: n}
}

// lower is the bound of OTLP's bucket below the range: all values of the range are
// larger. It is -Inf for the lowest bucket.
func (r Range) lower() float64 {
	if r.Low == 0 {
		return math.Inf(-1)
	}
	return math.Nextafter(r.Low, math.Inf(-1))
}

// bounds are what is known of a histogram that is not exact in all its fields. They are
// never changed once made, so that copies of a histogram share them.
type bounds struct {
	lowest, highest float64 // between which all observations are; highest may be infinite
	ranges          []Range // sorted by Low, then High, both of which are unique together; none is empty
}

func compareRanges(a, b Range) int {
	return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High))
}

// boundsOr are b, or those of a histogram without, whose extremes are exact.
func boundsOr(b *bounds, lowest, highest float64) *bounds {
	if b != nil {
		return b
	}
	return &bounds{lowest: lowest, highest: highest}
}

// extremes are the bounds of h, made from its extremes where they are exact.
func (h *Hist) extremes() *bounds { return boundsOr(h.bounds, h.min, h.max) }

// mergeBounds are the bounds of two histograms together.
func mergeBounds(a, b *bounds) *bounds {
	lowest, highest := min(a.lowest, b.lowest), max(a.highest, b.highest)
	if len(b.ranges) == 0 {
		if a.lowest == lowest && a.highest == highest {
			return a
		}
		return &bounds{lowest, highest, a.ranges}
	}
	merged := make([]Range, 0, len(a.ranges)+len(b.ranges))
	x, y := a.ranges, b.ranges
	for len(x) > 0 && len(y) > 0 {
		switch order := compareRanges(x[0], y[0]); {
		case order < 0:
			merged, x = append(merged, x[0]), x[1:]
		case order > 0:
			merged, y = append(merged, y[0]), y[1:]
		default:
			merged = append(merged, Range{x[0].Low, x[0].High, x[0].Count + y[0].Count})
			x, y = x[1:], y[1:]
		}
	}
	return &bounds{lowest, highest, append(append(merged, x...), y...)}
}

// unsigned counts the observations that may be negative; b may be nil.
func (b *bounds) unsigned() (n uint64) {
	if b == nil {
		return 0
	}
	for _, r := range b.ranges {
		if r.Low > 0 {
			break
		}
		n += r.Count
	}
	return n
}

// largestEnd is the largest finite end of a bucket, or an extreme; 0 if there is none.
func (h *Hist) largestEnd() (largest float64) {
	add := func(end float64) {
		if !math.IsInf(end, 1) {
			largest = max(largest, end)
		}
	}
	add(h.min)
	add(h.max)
	if _, last, ok := h.used(); ok {
		add(upperBound(h.offset+last, h.Scale()))
	}
	for _, r := range h.ranges() {
		add(r.Low)
		add(r.High)
	}
	return largest
}

// Around is how many observations may be at or over a limit or below it, as their
// buckets contain it, and between which values these are. high may be infinite.
func (h *Hist) Around(limit float64) (n uint64, low, high float64) {
	least, most := h.AtLeast(limit)
	if n = most - least; n == 0 {
		return 0, 0, 0
	}
	low, high = limit, limit
	if i := bucketOf(limit, h.Scale()) - h.offset; i >= 0 && i < len(h.counts) && h.counts[i] > 0 {
		low, high = upperBound(h.offset+i-1, h.Scale()), upperBound(h.offset+i, h.Scale())
	}
	for _, r := range h.ranges() {
		if r.Low < limit && limit <= r.High {
			low, high = min(low, max(r.lower(), 0)), max(high, r.High)
		}
	}
	b := h.extremes()
	return n, max(low, b.lowest), min(high, b.highest)
}

// Coarse is whether the histogram is less exact than those that we record: whether
// Interval has a width.
func (h *Hist) Coarse() bool { return h.total > 0 && (h.bounds != nil || h.coarse > 0) }

// Interval is between which values the observation of Quantile lies; upper may be
// infinite. Both are Quantile itself where all observations are recorded at our own
// resolution. It is false if the histogram is empty.
func (h *Hist) Interval(q float64) (lower, upper float64, ok bool) {
	if h.total == 0 || math.IsNaN(q) {
		return 0, 0, false
	}
	if !h.Coarse() {
		v, _ := h.Quantile(q)
		return v, v, true
	}
	b, rank := h.extremes(), h.rankOf(q)
	byHigh := slices.SortedFunc(slices.Values(b.ranges), func(x, y Range) int { return cmp.Compare(x.High, y.High) })
	lower = h.endOfRank(rank, b.ranges, -1, Range.lower)
	upper = h.endOfRank(rank, byHigh, 0, func(r Range) float64 { return r.High })
	if lower <= 0 { // perhaps negative
		lower = b.lowest
	}
	if rank == h.total {
		lower = h.max
	}
	if rank == 1 {
		upper = h.min
	}
	lower, upper = max(lower, b.lowest), min(upper, b.highest)
	return min(lower, upper), max(lower, upper), true // rounding at a bucket's end
}

// endOfRank is the rank-th smallest, over all observations, of the lower (side -1) or
// upper ends (side 0) of their buckets. ranges are sorted by that end.
func (h *Hist) endOfRank(rank uint64, ranges []Range, side int, end func(Range) float64) (at float64) {
	seen := h.zero
	for i := 0; seen < rank; {
		exponential := math.Inf(1)
		if i < len(h.counts) {
			exponential = upperBound(h.offset+i+side, h.Scale())
		}
		if len(ranges) > 0 && (i == len(h.counts) || end(ranges[0]) < exponential) {
			at, seen, ranges = end(ranges[0]), seen+ranges[0].Count, ranges[1:]
			continue
		}
		if h.counts[i] > 0 {
			at, seen = exponential, seen+h.counts[i]
		}
		i++
	}
	return at
}
