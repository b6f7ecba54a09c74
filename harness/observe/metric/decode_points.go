package metric

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of Metric that hold its data: gauge, sum, histogram with explicit bounds,
// exponential histogram, summary.
const (
	gaugeField, sumField, explicitField, exponentialField, summaryField = 5, 7, 9, 10, 11
)

// metric reads a message Metric.
func (d *Decoder) metric(b []byte) error {
	var name, unit []byte
	var kind protowire.Number
	d.data = d.data[:0]
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		if b = rest; f.kind != protowire.BytesType {
			continue
		}
		switch f.number {
		case 1:
			name = f.bytes
		case 3:
			unit = f.bytes
		case gaugeField, sumField, explicitField, exponentialField, summaryField:
			if f.number != kind { // a oneof: the last kind counts, messages of the same kind are merged
				d.data = d.data[:0]
			}
			kind, d.data = f.number, append(d.data, f.bytes)
		}
	}
	d.key = appendPart(appendPart(d.key[:0], name), unit)
	if err := d.content(kind); err != nil {
		return fmt.Errorf("metric %q: %w", name, err)
	}
	return nil
}

func appendPart(b, part []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// content reads the messages Gauge, Sum or ExponentialHistogram of one metric. Several
// are read like one.
func (d *Decoder) content(kind protowire.Number) error {
	const delta = 1 // AGGREGATION_TEMPORALITY_DELTA
	temporality := int32(0)
	for _, data := range d.data {
		for b := data; len(b) > 0; {
			f, rest, err := next(b)
			if err != nil {
				return err
			}
			if b = rest; f.is(2, protowire.VarintType) {
				temporality = int32(f.value)
			}
		}
	}
	var read func(b []byte, prefix int) (timed, error)
	switch {
	case kind == gaugeField:
		read = func(b []byte, prefix int) (timed, error) { return d.number(b, prefix, Gauge) }
	case kind == sumField && temporality != delta:
		return fmt.Errorf("sum is not of delta temporality")
	case kind == sumField:
		read = func(b []byte, prefix int) (timed, error) { return d.number(b, prefix, Counter) }
	case kind == exponentialField && temporality != delta:
		return fmt.Errorf("histogram is not of delta temporality")
	case kind == exponentialField:
		read = d.histogram
	default:
		return fmt.Errorf("neither sum, gauge nor exponential histogram")
	}
	prefix := len(d.key)
	for _, data := range d.data {
		for b := data; len(b) > 0; {
			f, rest, err := next(b)
			if err != nil {
				return err
			}
			if b = rest; !f.is(1, protowire.BytesType) {
				continue
			}
			t, err := read(f.bytes, prefix)
			if err != nil {
				return err
			}
			d.timed = append(d.timed, t)
		}
	}
	return nil
}

// number reads a message NumberDataPoint.
func (d *Decoder) number(b []byte, prefix int, kind Kind) (t timed, err error) {
	t.point.Kind, d.key = kind, d.key[:prefix]
	for len(b) > 0 {
		var f field
		if f, b, err = next(b); err != nil {
			return t, err
		}
		switch {
		case f.is(3, protowire.Fixed64Type):
			t.end = f.value
		case f.is(4, protowire.Fixed64Type):
			t.point.Value = f.float()
		case f.is(6, protowire.Fixed64Type):
			t.point.Value = float64(int64(f.value))
		case f.is(7, protowire.BytesType):
			d.key = appendPart(d.key, f.bytes)
		}
	}
	t.point.Series, err = d.seriesOfKey()
	return t, err
}

// histogram reads a message ExponentialHistogramDataPoint.
func (d *Decoder) histogram(b []byte, prefix int) (t timed, err error) {
	r := d.histBuffer()
	h := &r.hist
	t.point.Kind, t.point.Hist, d.key = Histogram, h, d.key[:prefix]
	var info histInfo
	for len(b) > 0 {
		var f field
		if f, b, err = next(b); err != nil {
			return t, err
		}
		switch {
		case f.is(1, protowire.BytesType):
			d.key = appendPart(d.key, f.bytes)
		case f.is(3, protowire.Fixed64Type):
			t.end = f.value
		case f.is(4, protowire.Fixed64Type):
			h.total = f.value
		case f.is(5, protowire.Fixed64Type):
			h.sum, info.hasSum = f.float(), true
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
		case f.is(12, protowire.Fixed64Type):
			h.min, info.hasMin = f.float(), true
		case f.is(13, protowire.Fixed64Type):
			h.max, info.hasMax = f.float(), true
		case f.is(14, protowire.Fixed64Type):
			info.zeroThreshold = f.float()
		}
		if err != nil {
			return t, err
		}
	}
	h.counts = slices.Clip(r.counts)
	if err := h.accept(info); err != nil {
		return t, err
	}
	t.point.Series, err = d.seriesOfKey()
	return t, err
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

// maxSeries bounds the cache of series, for senders that keep creating new ones.
const maxSeries = 1 << 16

// seriesOfKey returns the series of d.key, from the cache if possible.
func (d *Decoder) seriesOfKey() (Series, error) {
	if s, ok := d.series[string(d.key)]; ok {
		return s, nil
	}
	var parts []field
	for b := d.key; len(b) > 0; {
		size, n := binary.Uvarint(b)
		parts = append(parts, field{bytes: b[n : n+int(size)]})
		b = b[n+int(size):]
	}
	name, err := parts[0].text()
	if err != nil {
		return Series{}, err
	}
	unit, err := parts[1].text()
	if err != nil {
		return Series{}, err
	}
	kv := make([]string, 0, 2*len(parts))
	for _, p := range parts[2:] {
		a, err := readAttribute(p.bytes)
		if err != nil {
			return Series{}, err
		}
		kv = append(kv, a.key, a.label())
	}
	s := NewSeries(name, unit, kv...)
	if d.series == nil || len(d.series) >= maxSeries {
		d.series = map[string]Series{}
	}
	d.series[string(d.key)] = s
	return s, nil
}
