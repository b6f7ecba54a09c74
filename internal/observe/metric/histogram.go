// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"math"
	"sort"
)

// Scale is the resolution at which we record. Bucket i of scale s holds the
// values in (b^i, b^(i+1)] with b = 2^(2^-s), as OpenTelemetry's exponential
// histograms do. At scale 7 b = 1.00543, and the geometric midpoint of a bucket
// is within 0.28 % of each of its values (docs/design.md: at most 0.5 %).
const Scale = 7

// minScale is the coarsest scale accepted from other senders: the whole range of
// float64 fits in a few buckets.
const minScale = -10

// Hist is a mergeable histogram of values >= 0. The zero value is empty, at
// scale Scale. NaN is recorded as 0, and negative values are counted with the zeros,
// which keeps Count exact; a negative Min reveals them.
//
// Histograms of other senders may be coarser: at a lower scale, without their extremes,
// or with buckets between explicit bounds. These stay as they are (Range), beside the
// others in a merge, so that AtLeast and Interval state exactly what is known.
type Hist struct {
	zero   uint64   // observations <= 0
	offset int      // bucket index of counts[0]
	counts []uint64 // dense from the lowest to the highest bucket used
	total  uint64
	sum    float64
	min    float64 // the smallest observation, or with bounds a value that it does not exceed; undefined while total is 0
	max    float64 // likewise, the largest, or a value that it reaches
	coarse int     // Scale - scale: halvings of the resolution; 0: full resolution
	bounds *bounds // nil: min and max are exact, and all observations are in zero and counts
}

// Record adds n observations of v.
func (h *Hist) Record(v float64, n uint64) {
	if n == 0 {
		return
	}
	if h.bounds != nil {
		one := &Hist{}
		one.Record(v, n)
		h.Merge(one)
		return
	}
	if math.IsNaN(v) {
		v = 0
	}
	if h.total == 0 {
		h.min, h.max = v, v
	} else {
		h.min, h.max = min(h.min, v), max(h.max, v)
	}
	h.total += n
	h.sum += v * float64(n)
	if v <= 0 {
		h.zero += n
		return
	}
	h.add(bucketOf(v, h.Scale()), n)
}

// Scale is the resolution of this histogram: the constant Scale, or less after a merge
// with a coarser histogram.
func (h *Hist) Scale() int { return Scale - h.coarse }

// bucketOf maps v > 0 to its bucket: ceil(log_b v) - 1.
func bucketOf(v float64, scale int) int {
	if math.IsInf(v, 1) {
		v = math.MaxFloat64
	}
	frac, exp := math.Frexp(v) // v = frac * 2^exp, frac in [0.5, 1)
	if scale <= 0 {
		if frac == 0.5 { // an exact power of two belongs to the bucket below
			exp--
		}
		return (exp - 1) >> -scale
	}
	per := float64(int(1) << scale)
	index := int(math.Ceil(math.Log2(frac)*per)) - 1
	return exp<<scale + index
}

// upperBound is the largest value of bucket i.
func upperBound(i, scale int) float64 {
	return math.Exp2(math.Ldexp(float64(i+1), -scale))
}

// midpoint is the geometric midpoint of bucket i.
func midpoint(i, scale int) float64 {
	return math.Exp2(math.Ldexp(float64(i)+0.5, -scale))
}

func (h *Hist) add(index int, n uint64) {
	if at := index - h.offset; at < 0 || at >= len(h.counts) {
		h.extend(index, index)
	}
	h.counts[index-h.offset] += n
}

// Merge adds the observations of other, which it does not change. The result has the
// coarser of the two resolutions; that of an empty histogram is ignored.
func (h *Hist) Merge(other *Hist) {
	if other == nil || other.total == 0 {
		return
	}
	h.prepareMerge(other.offset, len(other.counts), other.coarse, other.min, other.max, other.bounds)
	shift := h.coarse - other.coarse
	if shift == 0 && len(other.counts) > 0 {
		into := h.counts[other.offset-h.offset:][:len(other.counts)]
		for i, n := range other.counts {
			into[i] += n
		}
	} else {
		for i, n := range other.counts {
			h.counts[(other.offset+i)>>shift-h.offset] += n
		}
	}
	h.zero += other.zero
	h.total += other.total
	h.sum += other.sum
}

// prepareMerge prepares for the buckets of another, non-empty histogram: it reduces the
// resolution to the coarser of both, extends the counts, and updates min, max and
// bounds.
func (h *Hist) prepareMerge(offset, buckets, coarse int, lowest, highest float64, other *bounds) {
	switch {
	case h.total == 0:
		h.counts, h.coarse, h.bounds = h.counts[:0], coarse, other
		h.min, h.max = lowest, highest
	case h.bounds != nil || other != nil:
		h.bounds = mergeBounds(h.extremes(), boundsOr(other, lowest, highest))
		h.min, h.max = min(h.min, lowest), max(h.max, highest)
	default:
		h.min, h.max = min(h.min, lowest), max(h.max, highest)
	}
	if h.coarse < coarse {
		h.coarsen(Scale - coarse)
	}
	if buckets > 0 {
		shift := h.coarse - coarse
		h.extend(offset>>shift, (offset+buckets-1)>>shift)
	}
}

// extend grows the counts to include the buckets from first to last. Counts beyond
// their length, up to their capacity, are always zero.
func (h *Hist) extend(first, last int) {
	if len(h.counts) == 0 {
		h.offset = first
	}
	below, used := max(0, h.offset-first), len(h.counts)
	n := below + max(used, last-h.offset+1)
	if n > cap(h.counts) {
		grown := make([]uint64, n, n+n/4)
		copy(grown[below:], h.counts)
		h.counts = grown
	} else {
		h.counts = h.counts[:n]
		if below > 0 {
			copy(h.counts[below:], h.counts[:used])
			clear(h.counts[:below])
		}
	}
	h.offset -= below
}

// coarsen reduces the resolution to a lower scale.
func (h *Hist) coarsen(scale int) {
	shift := h.Scale() - scale
	old, offset := h.counts, h.offset
	h.counts, h.offset, h.coarse = nil, 0, Scale-scale
	for i, n := range old {
		if n > 0 {
			h.add((offset+i)>>shift, n)
		}
	}
}

// Clone copies the histogram.
func (h *Hist) Clone() *Hist {
	c := *h
	c.counts = append([]uint64(nil), h.counts...)
	return &c
}

// Reset empties the histogram and keeps its memory.
func (h *Hist) Reset() {
	counts := h.counts
	clear(counts)
	*h = Hist{}
	if cap(counts) > 0 {
		h.counts = counts[:0]
	}
}

// Count is the number of observations.
func (h *Hist) Count() uint64 { return h.total }

// Sum is the sum of the observations.
func (h *Hist) Sum() float64 { return h.sum }

// Mean is the mean observation; false if the histogram is empty, or if its sum is not
// known.
func (h *Hist) Mean() (float64, bool) {
	if h.total == 0 || math.IsNaN(h.sum) {
		return 0, false
	}
	return h.sum / float64(h.total), true
}

// Min is the smallest observation, or at least a value that it does not exceed (see
// Interval); false if the histogram is empty.
func (h *Hist) Min() (float64, bool) { return h.min, h.total > 0 }

// Max is the largest observation, or at least a value that it reaches (see Interval);
// false if the histogram is empty.
func (h *Hist) Max() (float64, bool) { return h.max, h.total > 0 }

// rankOf is the rank of the q-quantile, ceil(q n), from 1.
func (h *Hist) rankOf(q float64) uint64 {
	return max(1, uint64(math.Ceil(min(max(q, 0), 1)*float64(h.total))))
}

// Quantile is the observation of rank ceil(q n), q in [0, 1]: the smallest observation
// that at least the share q of all observations does not exceed, to the resolution of
// the histogram: the middle of Interval where that is coarser than ours; where it has no
// upper end, that of the largest end of a bucket instead. It is false if the histogram is
// empty.
func (h *Hist) Quantile(q float64) (float64, bool) {
	if h.total == 0 || math.IsNaN(q) {
		return 0, false
	}
	if h.bounds != nil {
		lower, upper, _ := h.Interval(q)
		if math.IsInf(upper, 1) {
			upper = max(lower, h.largestEnd())
		}
		return lower + (upper-lower)/2, true
	}
	rank := h.rankOf(q)
	switch {
	case rank <= 1:
		return h.min, true
	case rank >= h.total:
		return h.max, true
	case rank <= h.zero:
		return min(max(0, h.min), h.max), true
	}
	seen := h.zero
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(max(midpoint(h.offset+i, h.Scale()), h.min), h.max), true
		}
	}
	return h.max, true
}

// AtLeast bounds the number of observations >= limit: lo counts the buckets that lie
// entirely at or above it, hi also those that contain it.
func (h *Hist) AtLeast(limit float64) (lo, hi uint64) {
	lowest, highest := h.min, h.max
	if h.bounds != nil {
		lowest, highest = h.bounds.lowest, h.bounds.highest
	}
	if h.total == 0 || limit > highest {
		return 0, 0
	}
	if limit <= lowest {
		return h.total, h.total
	}
	if limit <= 0 {
		return h.total - h.zero - h.bounds.unsigned(), h.total
	}
	// Upper bounds increase with the index: the first bucket that reaches the limit
	// may contain it, and all later ones lie above it.
	first := sort.Search(len(h.counts), func(i int) bool { return upperBound(h.offset+i, h.Scale()) >= limit })
	for i := first; i < len(h.counts); i++ {
		hi += h.counts[i]
		if i > first || upperBound(h.offset+i-1, h.Scale()) >= limit {
			lo += h.counts[i]
		}
	}
	for _, r := range h.ranges() {
		if max(r.Low, lowest) >= limit {
			lo += r.Count
		}
		if min(r.High, highest) >= limit {
			hi += r.Count
		}
	}
	return lo, hi
}
