// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of Metric that hold its data: gauge, sum, histogram with explicit bounds,
// exponential histogram, summary.
const (
	gaugeField, sumField, explicitField, exponentialField, summaryField = 5, 7, 9, 10, 11
)

var dataFields = []protowire.Number{gaugeField, sumField, explicitField, exponentialField, summaryField}

// metric reads a message Metric.
func (d *Decoder) metric(b []byte) error {
	var name, unit []byte
	var kind protowire.Number
	d.data = d.data[:0]
	err := eachField(b, func(f field) error {
		switch {
		case f.kind != protowire.BytesType:
		case f.number == 1:
			name = f.bytes
		case f.number == 3:
			unit = f.bytes
		case slices.Contains(dataFields, f.number):
			if f.number != kind { // a oneof: the last kind counts, messages of the same kind are merged
				d.data = d.data[:0]
			}
			kind, d.data = f.number, append(d.data, f.bytes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.key = appendPart(appendPart(d.key[:0], name), unit)
	if d.foreign != nil {
		err = d.foreignContent(kind, name)
	} else {
		err = d.content(kind)
	}
	if err != nil {
		return fmt.Errorf("metric %q: %w", name, err)
	}
	return nil
}

func appendPart(b, part []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// header is what the data messages of a metric, of which several are read like one, say
// of all their points.
type header struct {
	temporality int32
	monotonic   bool
}

// Values of AggregationTemporality.
const temporalityDelta, temporalityCumulative = 1, 2

func (d *Decoder) header(kind protowire.Number) (h header, err error) {
	if kind == gaugeField { // which has none of these fields
		return h, nil
	}
	for _, data := range d.data {
		err = cmp.Or(err, eachField(data, func(f field) error {
			switch {
			case f.is(2, protowire.VarintType):
				h.temporality = int32(f.value)
			case f.is(3, protowire.VarintType):
				h.monotonic = f.value != 0
			}
			return nil
		}))
	}
	return h, err
}

// Bounds on one message of our own frames: those of a worker with 50 metrics, each of
// MaxSeries label sets, for a minute.
const (
	maxOwnPoints  = 50 * MaxSeries * 60
	maxOwnBuckets = 1 << 24
)

// content reads the points of one metric of our own.
func (d *Decoder) content(kind protowire.Number) error {
	h, err := d.header(kind)
	switch {
	case err != nil:
		return err
	case kind == sumField && h.temporality != temporalityDelta:
		return fmt.Errorf("sum is not of delta temporality")
	case kind != gaugeField && kind != sumField && kind != explicitField && kind != exponentialField:
		return fmt.Errorf("neither sum, gauge nor histogram")
	case kind != gaugeField && h.temporality != temporalityDelta:
		return fmt.Errorf("histogram is not of delta temporality")
	}
	return d.eachPoint(kind, func(p dataPoint) error {
		switch {
		case p.unfit != nil:
			return p.unfit
		case len(d.points) >= maxOwnPoints:
			return fmt.Errorf("more than %d points in one message", maxOwnPoints)
		case d.buckets > maxOwnBuckets:
			return fmt.Errorf("more than %d buckets in one message", maxOwnBuckets)
		}
		d.points = append(d.points, p.point)
		return nil
	})
}

// dataPoint is a point with what only foreign senders need.
type dataPoint struct {
	start, end uint64 // unix ns
	point      Point
	missing    bool  // it says that there is no value, or has none
	unfit      error // it cannot be represented; nil: it can
}

// eachPoint reads the points of a metric. d.key ends with the point's attributes.
func (d *Decoder) eachPoint(kind protowire.Number, visit func(dataPoint) error) error {
	prefix := len(d.key)
	for _, data := range d.data {
		err := eachMessage(data, 1, func(encoded []byte) error {
			d.key = d.key[:prefix]
			var p dataPoint
			var err error
			switch kind {
			case gaugeField:
				p, err = d.number(encoded, Gauge)
			case sumField:
				p, err = d.number(encoded, Counter)
			case exponentialField:
				p, err = d.exponential(encoded)
			case explicitField:
				p, err = d.explicit(encoded)
			}
			if err != nil {
				return err
			}
			return visit(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pointFields are the numbers of the fields of a point that depend on its kind; 0: it has
// none.
type pointFields struct{ attributes, flags, exemplar, min, max protowire.Number }

// noRecordedValue is the flag of a point without a value.
const noRecordedValue = 1

// pointField reads a field that points of several kinds have.
func (d *Decoder) pointField(f field, p *dataPoint, info *histInfo, of pointFields) error {
	h := p.point.Hist
	switch {
	case f.is(of.attributes, protowire.BytesType):
		d.key = appendPart(d.key, f.bytes)
	case f.is(of.flags, protowire.VarintType):
		p.missing = f.value&noRecordedValue != 0
	case f.is(of.exemplar, protowire.BytesType):
		return d.exemplar(f.bytes, &p.point)
	case f.is(2, protowire.Fixed64Type):
		p.start = f.value
	case f.is(3, protowire.Fixed64Type):
		p.end = f.value
	case f.is(4, protowire.Fixed64Type):
		h.total = f.value
	case f.is(5, protowire.Fixed64Type):
		h.sum, info.hasSum = f.float(), true
	case f.is(of.min, protowire.Fixed64Type):
		h.min, info.hasMin = f.float(), true
	case f.is(of.max, protowire.Fixed64Type):
		h.max, info.hasMax = f.float(), true
	}
	return nil
}

// number reads a message NumberDataPoint.
func (d *Decoder) number(b []byte, kind Kind) (p dataPoint, err error) {
	p.point.Kind = kind
	none := true
	err = eachField(b, func(f field) error {
		switch {
		case f.is(4, protowire.Fixed64Type):
			p.point.Value, none = f.float(), false
		case f.is(6, protowire.Fixed64Type):
			p.point.Value, none = float64(int64(f.value)), false
		case f.number == 5: // exemplars
		default:
			return d.pointField(f, &p, nil, pointFields{attributes: 7, flags: 8})
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	p.missing = p.missing || none
	p.point.Series, err = d.seriesOfKey()
	return p, err
}

// Bounds of the cache of series, for senders that keep creating new ones: their number, and the
// bytes of their keys. Each takes about three times as much.
const (
	maxSeries    = 1 << 16
	maxKeysBytes = 16 << 20
)

// seriesOfKey returns the series of d.key, from the cache if possible.
func (d *Decoder) seriesOfKey() (Series, error) {
	if s, ok := d.series[string(d.key)]; ok {
		d.changed = d.changed || s.masked
		return s.Series, nil
	}
	parts := keyParts(d.key)
	name, err := textOf(parts[0])
	if err != nil {
		return Series{}, err
	}
	unit, err := textOf(parts[1])
	if err != nil {
		return Series{}, err
	}
	kv := make([]string, 0, 2*len(parts))
	for _, p := range parts[2:] {
		a, err := readAttribute(p)
		if err != nil {
			return Series{}, err
		}
		kv = append(kv, a.key, a.label())
	}
	s := d.shownSeries(name, unit, kv)
	if d.series == nil || len(d.series) >= maxSeries || d.keys > maxKeysBytes {
		d.series, d.keys = map[string]decoded{}, 0
	}
	d.series[string(d.key)] = s
	d.keys += len(d.key)
	return s.Series, nil
}

// decoded is a series, of which a text was masked or not.
type decoded struct {
	Series
	masked bool
}

// shownSeries is the series with these labels, as keys and values.
func (d *Decoder) shownSeries(name, unit string, kv []string) decoded {
	before := d.changed
	d.changed = false
	if of, known := Find(name); !d.ofWorker() || !known || of.From(SourceK6) || name == ErrorsByClass {
		for i := 0; i < len(kv); i += 2 {
			kv[i], kv[i+1] = d.shownLabel(kv[i], kv[i+1])
		}
		name, unit = d.shown(name), d.shown(unit)
	}
	s := decoded{NewSeries(name, unit, kv...), d.changed}
	d.changed = d.changed || before
	return s
}

// ownLabels of workers have words of this program and of the profile alone, as all labels of its
// own metrics: rules read them, and a secret may be the same word.
var ownLabels = []string{"scenario", "where", ExemplarOutcome, ExemplarSampled}

func (d *Decoder) shownLabel(key, value string) (string, string) {
	if d.ofWorker() && (slices.Contains(ownLabels, key) || strings.HasPrefix(key, violates)) {
		return key, value
	}
	return d.shown(key), d.shown(value)
}

func (d *Decoder) ofWorker() bool { return d.export == nil }

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
