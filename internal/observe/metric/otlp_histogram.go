// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"math"
)

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
	if !n.hasSum {
		h.sumFromBuckets()
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
	if !n.hasMin { // of observations that may be negative, 0 stands for all
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

// sumFromBuckets estimates the sum of exponential buckets for a sender that omits it; 0
// would read as a mean of 0.
func (h *Hist) sumFromBuckets() {
	h.sum = 0
	for i, n := range h.counts {
		if n > 0 {
			h.sum += float64(n) * midpoint(h.offset+i, h.Scale())
		}
	}
}
