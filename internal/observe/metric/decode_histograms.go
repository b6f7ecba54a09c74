// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// exponential reads a message ExponentialHistogramDataPoint.
func (d *Decoder) exponential(b []byte) (p dataPoint, err error) {
	r := d.histBuffer()
	h := &r.hist
	p.point.Kind, p.point.Hist = Histogram, h
	var info histInfo
	err = eachField(b, func(f field) (err error) {
		switch {
		case f.is(6, protowire.VarintType):
			info.scale = zigzag(f.value)
		case f.is(7, protowire.Fixed64Type):
			h.zero = f.value
		case f.is(8, protowire.BytesType):
			r.counts, err = readBuckets(f.bytes, &h.offset, r.counts)
		case f.is(9, protowire.BytesType):
			var below []uint64
			below, err = readBuckets(f.bytes, new(int), nil)
			info.negative = info.negative || slices.ContainsFunc(below, func(n uint64) bool { return n > 0 })
		case f.is(14, protowire.Fixed64Type):
			info.zeroThreshold = f.float()
		default:
			err = d.pointField(f, &p, &info, pointFields{attributes: 1, flags: 10, exemplar: 11, min: 12, max: 13})
		}
		return err
	})
	if err != nil {
		return p, err
	}
	h.counts, d.buckets = slices.Clip(r.counts), d.buckets+len(r.counts)
	p.unfit = h.accept(info)
	p.point.Series, err = d.seriesOfKey()
	return p, err
}

// explicit reads a message HistogramDataPoint.
func (d *Decoder) explicit(b []byte) (p dataPoint, err error) {
	h := &Hist{}
	p.point.Kind, p.point.Hist = Histogram, h
	var info histInfo
	d.bounds, d.counts = d.bounds[:0], d.counts[:0]
	err = eachField(b, func(f field) (err error) {
		switch list := f.kind == protowire.Fixed64Type || f.kind == protowire.BytesType; {
		case f.number == 6 && list:
			d.counts, err = readFixed(f, d.counts, maxExplicit+1)
		case f.number == 7 && list:
			d.bounds, err = readFixed(f, d.bounds, maxExplicit)
		default:
			err = d.pointField(f, &p, &info, pointFields{attributes: 9, flags: 10, exemplar: 8, min: 11, max: 12})
		}
		return err
	})
	if err != nil {
		return p, err
	}
	p.unfit = h.acceptExplicit(d.bounds, d.counts, info)
	p.point.Series, err = d.seriesOfKey()
	return p, err
}

// histBuffer is a histogram and the reused memory of its counts. The histogram's slice
// is clipped: the memory behind it holds counts of an earlier histogram, which a merge
// would take for zeros.
type histBuffer struct {
	hist   Hist
	counts []uint64
}

// histBuffer returns an empty buffer, reused from an earlier call of Decode if possible.
func (d *Decoder) histBuffer() *histBuffer {
	if d.taken == len(d.hists) {
		d.hists = append(d.hists, &histBuffer{})
	}
	r := d.hists[d.taken]
	d.taken++
	r.hist, r.counts = Hist{}, r.counts[:0]
	return r
}

// readFixed appends a repeated field of 64 bits per value, packed or not, up to one more
// than the limit.
func readFixed(f field, all []uint64, limit int) ([]uint64, error) {
	if f.kind == protowire.Fixed64Type {
		return append(all, f.value), nil
	}
	for b := f.bytes; len(b) > 0 && len(all) <= limit; {
		v, n := protowire.ConsumeFixed64(b)
		if n < 0 {
			return all, protowire.ParseError(n)
		}
		all, b = append(all, v), b[n:]
	}
	return all, nil
}
