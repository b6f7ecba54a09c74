// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"bytes"
	"encoding/binary"
)

// Packed is a compact histogram for keeping many in memory: about one byte per bucket
// instead of eight. It is never stored or sent; the zero value is empty.
type Packed struct {
	// Sum is the sum of the observations. Whoever merges histograms of several senders
	// may set it, since the sum of floating-point numbers depends on their order.
	Sum float64

	min, max float64
	zero     uint64
	total    uint64
	offset   int32
	length   int32 // buckets
	coarse   int32
	bounds   *bounds
	// counts are varints; a 0 is followed by the number of further zeros.
	counts []byte
}

// Pack packs the histogram.
func (h *Hist) Pack() Packed {
	var scratch [4096]byte // enough for most; the result is cloned to its exact size
	counts := scratch[:0]
	for i := 0; i < len(h.counts); {
		if n := h.counts[i]; n > 0 {
			counts = binary.AppendUvarint(counts, n)
			i++
			continue
		}
		first := i
		for i < len(h.counts) && h.counts[i] == 0 {
			i++
		}
		counts = binary.AppendUvarint(append(counts, 0), uint64(i-first-1))
	}
	return Packed{
		Sum: h.sum, min: h.min, max: h.max, zero: h.zero, total: h.total,
		offset: int32(h.offset), length: int32(len(h.counts)), coarse: int32(h.coarse),
		bounds: h.bounds, counts: bytes.Clone(counts),
	}
}

// Size is how much memory a histogram holds, in bytes.
func (h *Hist) Size() int {
	if h == nil {
		return 0
	}
	return 8*cap(h.counts) + rangeBytes*h.Ranges()
}

// Ranges is the number of buckets with bounds of their own, of senders with explicit ones.
func (h *Hist) Ranges() int { return len(h.ranges()) }

// Size is Hist.Size of a packed histogram.
func (p *Packed) Size() int {
	n := len(p.counts)
	if p.bounds != nil {
		n += rangeBytes * len(p.bounds.ranges)
	}
	return n
}

const rangeBytes = 24

// Count is the number of observations.
func (p *Packed) Count() uint64 { return p.total }

// MergePacked is Merge for a packed histogram.
func (h *Hist) MergePacked(p *Packed) {
	if p.total == 0 {
		return
	}
	h.prepareMerge(int(p.offset), int(p.length), int(p.coarse), p.min, p.max, p.bounds)
	h.zero += p.zero
	h.total += p.total
	h.sum += p.Sum
	shift := h.coarse - int(p.coarse)
	i, b := int(p.offset), p.counts
	for len(b) > 0 {
		n, size := uint64(b[0]), 1
		if n >= 0x80 {
			n, size = binary.Uvarint(b)
		}
		b = b[size:]
		if n == 0 {
			more, size := binary.Uvarint(b)
			i, b = i+1+int(more), b[size:]
			continue
		}
		h.counts[i>>shift-h.offset] += n
		i++
	}
}
