// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"assay.dev/assay/internal/observe/metric"
)

// timeSeries is one series of one kind over time. It holds a value for each source and
// second, and one histogram for each second.
type timeSeries struct {
	key    string
	series metric.Series
	kind   metric.Kind
	source string // source of a foreign series; the others are of all sources
	length int64  // seconds of the intervals of a foreign series; 0: it is not foreign
	// columns are the values of counters and gauges, and the sums of histograms, sorted by
	// their source. They are kept by frame, and read by second, source and
	// sequence, so that they are added up in an order independent of their arrival.
	columns []*column
	hists   []packedSecond // histograms, sorted by second
	open    []*openSecond  // seconds that are not packed, the most recently used last
	dirty   bool           // frames were added since the last sort
}

// packedSecond is a histogram over all sources in one second, empty while the second is
// open. Unpacked, most of a long record's memory would be empty buckets.
type packedSecond struct {
	second int64
	hist   metric.Packed
}

// openSecond is a histogram that is being merged into.
type openSecond struct {
	second int64
	hist   metric.Hist
}

// maxOpen is the number of open seconds of a series. Frames arrive in order of time,
// except for late completions, most of which belong to the second before.
const maxOpen = 4

func (s *timeSeries) add(f metric.Frame, p metric.Point, b *allowance) {
	s.dirty = true
	c, value := s.column(f.Source, b), p.Value
	if p.Kind == metric.Histogram {
		value = p.Hist.Sum()
		merge(s.at(f.Second, b), p.Hist, b)
		c.observations += p.Hist.Count()
	}
	before := len(c.packed)
	c.add(point{f.Second, f.Sequence, value}, s.kind)
	b.spend(len(c.packed)-before, 0)
}

// merge merges a histogram into another, which may grow.
func merge(into, h *metric.Hist, b *allowance) {
	before := into.Size()
	into.Merge(h)
	b.spend(into.Size()-before, into.Ranges()/8)
}

// column is that of a source.
func (s *timeSeries) column(source string, b *allowance) *column {
	i, found := s.findColumn(source)
	if !found {
		b.spend(columnBytes, (len(s.columns)-i)/32)
		s.columns = slices.Insert(s.columns, i, &column{source: source})
	}
	return s.columns[i]
}

func (s *timeSeries) findColumn(source string) (int, bool) {
	return slices.BinarySearchFunc(s.columns, source, func(c *column, source string) int { return cmp.Compare(c.source, source) })
}

// at opens the histogram of a second.
func (s *timeSeries) at(second int64, b *allowance) *metric.Hist {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := s.open[i]; o.second == second {
			s.open = append(slices.Delete(s.open, i, i+1), o)
			return &o.hist
		}
	}
	o := &openSecond{}
	if len(s.open) == maxOpen {
		o = s.open[0]
		b.spend(s.close(o))
		s.open = slices.Delete(s.open, 0, 1)
	}
	o.second = second
	s.open = append(s.open, o)
	i, found := s.find(second)
	if found {
		o.hist.MergePacked(&s.hists[i].hist)
	} else {
		b.spend(secondBytes, (len(s.hists)-i)/4)
		s.hists = slices.Insert(s.hists, i, packedSecond{second: second})
	}
	return &o.hist
}

func (s *timeSeries) find(second int64) (int, bool) {
	if n := len(s.hists); n == 0 || s.hists[n-1].second < second {
		return n, false
	}
	return slices.BinarySearchFunc(s.hists, second, func(p packedSecond, second int64) int { return cmp.Compare(p.second, second) })
}

// close packs an open second and resets it for reuse. It returns what that costs.
func (s *timeSeries) close(o *openSecond) (memory, work int) {
	i, _ := s.find(o.second)
	before := s.hists[i].hist.Size()
	s.hists[i].hist = o.hist.Pack()
	work = o.hist.Size() / 8 / 16 // buckets, which are unpacked if the second is opened again
	o.hist.Reset()
	return s.hists[i].hist.Size() - before, work
}

// sort prepares the series for reading.
func (s *timeSeries) sort() {
	if !s.dirty {
		return
	}
	s.dirty = false
	for _, o := range s.open {
		s.close(o)
	}
	s.open = nil
	for i := range s.hists {
		s.hists[i].hist.Sum = 0
	}
	for _, c := range s.columns {
		c.sort(s.kind)
		hists := s.hists
		for at := c.read(); at.more && len(hists) > 0; at.next() {
			for hists[0].second < at.second {
				hists = hists[1:]
			}
			hists[0].hist.Sum += at.value
		}
	}
}

// each visits the points of columns within a span, by second and then by column. It visits
// only the last value of a gauge in each column and second.
func (s *timeSeries) each(columns []*column, span Span, visit func(point)) {
	s.sort()
	cursors := make([]cursor, 0, len(columns))
	for _, c := range columns {
		at := c.read()
		for at.more && at.second < span.From {
			at.next()
		}
		cursors = append(cursors, at)
	}
	for {
		second := span.To
		for i := range cursors {
			if c := &cursors[i]; c.more && c.second < second {
				second = c.second
			}
		}
		if second == span.To {
			return
		}
		for i := range cursors {
			for c := &cursors[i]; c.more && c.second == second; {
				p := c.point
				if c.next(); s.kind != metric.Gauge || !c.more || c.second != second {
					visit(p)
				}
			}
		}
	}
}

// column holds the values of one series from one source, packed: a second and a sequence
// mostly follow from the ones before, and most counters are small whole numbers. A value
// takes 3 to 11 bytes instead of 32, and those of a thousand workers are most of a long
// record.
type column struct {
	source       string
	observations uint64 // number of observations of a histogram
	packed       []byte
	last         point // packed last
	unsorted     bool
}

// point is the value of one frame.
type point struct {
	second   int64
	sequence uint64
	value    float64
}

// maxWhole is the bound of the whole numbers that are packed as such. From here on not
// every whole number is a float64.
const maxWhole = 1 << 53

// compare is the order in which points are read: by second and sequence. The values
// themselves order counters and sums that have neither, so that they are added up in an
// order independent of their arrival; of gauges without a sequence the last to arrive
// counts.
func (p point) compare(o point, kind metric.Kind) int {
	order := cmp.Or(cmp.Compare(p.second, o.second), cmp.Compare(p.sequence, o.sequence))
	if order == 0 && kind != metric.Gauge {
		order = cmp.Compare(p.value, o.value)
	}
	return order
}

// add appends a point.
func (c *column) add(p point, kind metric.Kind) {
	if len(c.packed) > 0 && p.compare(c.last, kind) < 0 {
		c.unsorted = true
	}
	b := binary.AppendVarint(c.packed, p.second-c.last.second) // modulo 2^64
	b = binary.AppendVarint(b, int64(p.sequence-c.last.sequence))
	if whole := int64(p.value); float64(whole) == p.value && math.Abs(p.value) < maxWhole && (p.value != 0 || !math.Signbit(p.value)) {
		b = binary.AppendUvarint(b, protowire.EncodeZigZag(whole)+1)
	} else {
		b = binary.LittleEndian.AppendUint64(append(b, 0), math.Float64bits(p.value))
	}
	c.packed, c.last = b, p
}

// sort puts the points in order, if they are not.
func (c *column) sort(kind metric.Kind) {
	if !c.unsorted {
		return
	}
	var points []point
	for at := c.read(); at.more; at.next() {
		points = append(points, at.point)
	}
	slices.SortStableFunc(points, func(a, b point) int { return a.compare(b, kind) })
	c.packed, c.last, c.unsorted = c.packed[:0], point{}, false
	for _, p := range points {
		c.add(p, kind)
	}
}

// cursor is at one of a column's points.
type cursor struct {
	point
	more bool // there is one
	rest []byte
}

// read returns a cursor at the first point.
func (c *column) read() cursor {
	at := cursor{rest: c.packed}
	at.next()
	return at
}

// next moves to the next point.
func (c *cursor) next() {
	if c.more = len(c.rest) > 0; !c.more {
		return
	}
	c.second += protowire.DecodeZigZag(c.number())
	c.sequence += uint64(protowire.DecodeZigZag(c.number()))
	if n := c.number(); n > 0 {
		c.value = float64(protowire.DecodeZigZag(n - 1))
		return
	}
	c.value = math.Float64frombits(binary.LittleEndian.Uint64(c.rest))
	c.rest = c.rest[8:]
}

func (c *cursor) number() uint64 {
	if b := c.rest[0]; b < 0x80 {
		c.rest = c.rest[1:]
		return uint64(b)
	}
	n, size := binary.Uvarint(c.rest)
	c.rest = c.rest[size:]
	return n
}
