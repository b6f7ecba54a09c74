// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"math"
	"slices"
)

// check verifies the invariants between the fields, so that a received histogram cannot
// be inconsistent.
func (h *Hist) check() error {
	n, overflow := h.zero, false
	add := func(c uint64) { n, overflow = n+c, overflow || n+c < n }
	for _, c := range h.counts {
		add(c)
	}
	for _, r := range h.ranges() {
		add(r.Count)
	}
	switch b := h.bounds; {
	case overflow:
		return fmt.Errorf("check histogram: bucket counts overflow")
	case n != h.total:
		return fmt.Errorf("check histogram: count is %d, buckets hold %d", h.total, n)
	case h.Scale() < minScale || h.Scale() > Scale:
		return fmt.Errorf("check histogram: scale %d out of range", h.Scale())
	case h.total == 0:
		return nil
	case b == nil && !(h.min <= h.max):
		return fmt.Errorf("check histogram: min %g above max %g", h.min, h.max)
	case b != nil && !(b.lowest <= h.min && b.lowest <= h.max && h.min <= b.highest && h.max <= b.highest):
		return fmt.Errorf("check histogram: min %g and max %g outside %g to %g", h.min, h.max, b.lowest, b.highest)
	case b != nil && !slices.IsSortedFunc(b.ranges, compareRanges):
		return fmt.Errorf("check histogram: ranges are not sorted")
	}
	return h.checkBounds()
}

// ends are the smallest and the largest of the lower and of the upper ends of the buckets
// in use. Zeros may be negative.
type ends struct{ firstLow, firstHigh, lastLow, lastHigh float64 }

func (h *Hist) ends() ends {
	e := ends{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	add := func(low, high float64) {
		e.firstLow, e.firstHigh = min(e.firstLow, low), min(e.firstHigh, high)
		e.lastLow, e.lastHigh = max(e.lastLow, low), max(e.lastHigh, high)
	}
	if h.zero > 0 {
		add(math.Inf(-1), 0)
	}
	if first, last, ok := h.used(); ok {
		for _, i := range []int{h.offset + first, h.offset + last} {
			add(upperBound(i-1, h.Scale()), upperBound(i, h.Scale()))
		}
	}
	for _, r := range h.ranges() {
		add(r.lower(), r.High)
	}
	return e
}

// checkBounds compares the extremes, which AtLeast and Quantile trust, with the lowest
// and the highest bucket in use.
func (h *Hist) checkBounds() error {
	const slack = 1e-9 // relative: rounding by a sender may put a value on a bucket's bound into its neighbour
	switch e, b := h.ends(), h.extremes(); {
	case h.max > e.lastHigh*(1+slack):
		return fmt.Errorf("check histogram: max %g above the highest bucket, which ends at %g", h.max, e.lastHigh)
	case b.highest < e.lastLow*(1-slack), b.lowest > e.firstHigh*(1+slack):
		return fmt.Errorf("check histogram: buckets outside min %g and max %g", b.lowest, b.highest)
	}
	return nil
}

// used returns the indices of the first and the last count that is not 0; not ok if all
// are 0.
func (h *Hist) used() (first, last int, ok bool) {
	last = len(h.counts) - 1
	for first <= last && h.counts[first] == 0 {
		first++
	}
	for last > first && h.counts[last] == 0 {
		last--
	}
	return first, last, first <= last
}

const (
	// maxBuckets bounds the memory that a received histogram can make us allocate:
	// the whole range of float64 at our own scale.
	maxBuckets = 2100 << Scale
	// maxScale is the finest resolution that OpenTelemetry's SDKs use.
	maxScale = 20
)

// histInfo holds the fields of an OTLP histogram that Hist does not have.
type histInfo struct {
	scale                  int
	zeroThreshold          float64
	negative               bool // it has negative observations
	hasSum, hasMin, hasMax bool
}

// accept converts a received histogram to the form that we record. It returns an error
// if it cannot represent the histogram, or if its fields are inconsistent.
func (h *Hist) accept(n histInfo) error {
	switch {
	case n.negative:
		return fmt.Errorf("histogram holds negative observations")
	case h.zero > 0 && n.zeroThreshold > 0:
		return fmt.Errorf("histogram counts values up to %g as zero", n.zeroThreshold)
	case len(h.counts) > maxBuckets:
		return fmt.Errorf("histogram has %d buckets, the limit is %d", len(h.counts), maxBuckets)
	case n.scale < minScale || n.scale > maxScale:
		return fmt.Errorf("histogram has scale %d, want %d to %d", n.scale, minScale, maxScale)
	}
	h.coarse = Scale - n.scale
	if err := h.fit(); err != nil {
		return err
	}
	if !n.hasSum { // an estimate: 0 would read as a mean of 0
		h.sum = 0
		for i, n := range h.counts {
			h.sum += float64(n) * midpoint(h.offset+i, h.Scale())
		}
	}
	h.completeExtremes(n)
	return h.check()
}

// fit trims a received histogram to the buckets that it uses, reduces a finer
// resolution to ours, and returns an error if a bucket lies outside the range of
// float64: buckets are dense, so that a merge would allocate all buckets between two
// distant ones.
func (h *Hist) fit() error {
	first, last, ok := h.used()
	if !ok {
		h.counts, h.offset, h.coarse = nil, 0, max(0, h.coarse)
		return nil
	}
	h.counts, h.offset = h.counts[first:last+1], h.offset+first
	lowest, highest := bucketOf(math.SmallestNonzeroFloat64, h.Scale()), bucketOf(math.MaxFloat64, h.Scale())
	if h.offset < lowest || h.offset+len(h.counts)-1 > highest {
		return fmt.Errorf("histogram has buckets %d to %d, the range of float64 is %d to %d", h.offset, h.offset+len(h.counts)-1, lowest, highest)
	}
	if h.coarse < 0 {
		h.coarsen(Scale)
	}
	return nil
}

// completeExtremes derives what is known of the extremes from the buckets in use, for a
// sender that omits one or both.
func (h *Hist) completeExtremes(n histInfo) {
	if h.total == 0 || n.hasMin && n.hasMax && h.bounds == nil {
		return
	}
	e, b := h.ends(), bounds{lowest: h.min, highest: h.max}
	if h.bounds != nil {
		b.ranges = h.bounds.ranges
	}
	if !n.hasMin { // 0 stands for all observations that may be negative
		b.lowest, h.min = max(e.firstLow, 0), e.firstHigh
	}
	if !n.hasMax {
		b.highest, h.max = e.lastHigh, max(e.lastLow, 0)
	}
	if !n.hasMin || !n.hasMax {
		b.lowest, b.highest = min(b.lowest, b.highest), max(b.lowest, b.highest) // rounding at a bucket's end
		h.min, h.max = min(h.min, b.highest), max(h.max, b.lowest)
	}
	if h.bounds = &b; len(b.ranges) == 0 && b.lowest == h.min && b.highest == h.max {
		h.bounds = nil
	}
}
