package metric

import "fmt"

// check verifies the invariants between the fields, so that a received histogram cannot
// be inconsistent.
func (h *Hist) check() error {
	var n uint64 = h.zero
	for _, c := range h.counts {
		if n+c < n {
			return fmt.Errorf("check histogram: bucket counts overflow")
		}
		n += c
	}
	switch {
	case n != h.total:
		return fmt.Errorf("check histogram: count is %d, buckets hold %d", h.total, n)
	case h.total > 0 && !(h.min <= h.max):
		return fmt.Errorf("check histogram: min %g above max %g", h.min, h.max)
	case h.Scale() < minScale || h.Scale() > Scale:
		return fmt.Errorf("check histogram: scale %d out of range", h.Scale())
	case h.total > 0:
		return h.checkBounds()
	}
	return nil
}

// checkBounds compares min and max, which AtLeast and Quantile trust, with the
// lowest and the highest bucket in use.
func (h *Hist) checkBounds() error {
	const slack = 1e-9 // relative: rounding by a sender may put a value on a bucket's bound into its neighbour
	first, last, ok := h.used()
	if !ok {
		if h.max > 0 {
			return fmt.Errorf("check histogram: max %g, but all buckets are empty", h.max)
		}
		return nil
	}
	low, high := upperBound(h.offset+first, h.Scale()), upperBound(h.offset+last-1, h.Scale())
	if h.zero > 0 {
		low = 0
	}
	upper := upperBound(h.offset+last, h.Scale())
	switch {
	case h.max > upper*(1+slack):
		return fmt.Errorf("check histogram: max %g above the highest bucket, which ends at %g", h.max, upper)
	case h.max < high*(1-slack), h.min > low*(1+slack):
		return fmt.Errorf("check histogram: buckets outside min %g and max %g", h.min, h.max)
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
