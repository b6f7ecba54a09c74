// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// column holds the values of one series from one source, packed: a second and a sequence
// mostly follow from the ones before, and most counters are small whole numbers. A value
// takes 3 to 11 bytes instead of 32, and those of a thousand workers are most of a long
// record.
type column struct {
	source       string
	observations uint64 // of a histogram
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
	b := appendDifference(c.packed, uint64(p.second)-uint64(c.last.second))
	b = appendDifference(b, p.sequence-c.last.sequence)
	if whole := int64(p.value); float64(whole) == p.value && math.Abs(p.value) < maxWhole && !negativeZero(p.value) {
		b = binary.AppendUvarint(b, zigzag(whole)+1)
	} else {
		b = binary.LittleEndian.AppendUint64(append(b, 0), math.Float64bits(p.value))
	}
	c.packed, c.last = b, p
}

func negativeZero(v float64) bool { return v == 0 && math.Signbit(v) }

// appendDifference appends a difference modulo 2^64.
func appendDifference(b []byte, d uint64) []byte { return binary.AppendUvarint(b, zigzag(int64(d))) }

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

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
	c.second += unzigzag(c.number())
	c.sequence += uint64(unzigzag(c.number()))
	if n := c.number(); n > 0 {
		c.value = float64(unzigzag(n - 1))
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
