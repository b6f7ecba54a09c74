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
