package record

import (
	"cmp"
	"slices"

	"assay/harness/observe/metric"
)

// line is one series of one kind over time. Its memory grows with the seconds: a
// value for each source and second, and one histogram for each second.
type line struct {
	key    string
	series metric.Series
	kind   metric.Kind
	// points are the values of counters and gauges, and the sums of histograms,
	// sorted by second, source and sequence once read. They are kept apart so that
	// they are added up in one order, independent of their arrival.
	points []point
	seen   []uint64 // observations of a histogram, by source
	cells  []cell   // histograms, sorted by second
	open   []*open  // seconds that are not packed, the one used last at the end
	dirty  bool     // frames were added since the last reading
}

// point is the value of one frame.
type point struct {
	second   int64
	sequence uint64
	value    float64
	source   int32
}

// cell is a histogram over all sources in one second, packed unless it is open:
// otherwise most of a long record's memory would be empty buckets.
type cell struct {
	second int64
	hist   metric.Packed
}

type open struct {
	second int64
	hist   metric.Hist
}

// maxOpen seconds of a series are not packed. Frames arrive in the order of time,
// except those of late completions, most of which are of the second before.
const maxOpen = 4

func (l *line) add(f metric.Frame, source int32, p metric.Point) {
	l.dirty = true
	value := p.Value
	if p.Kind == metric.Histogram {
		value = p.Hist.Sum()
		l.at(f.Second).Merge(p.Hist)
		for len(l.seen) <= int(source) {
			l.seen = append(l.seen, 0)
		}
		l.seen[source] += p.Hist.Count()
	}
	l.points = append(l.points, point{f.Second, f.Sequence, value, source})
}

// at is the histogram of a second, to merge into.
func (l *line) at(second int64) *metric.Hist {
	for i := len(l.open) - 1; i >= 0; i-- {
		if o := l.open[i]; o.second == second {
			l.open = append(slices.Delete(l.open, i, i+1), o)
			return &o.hist
		}
	}
	o := &open{}
	if len(l.open) == maxOpen {
		o = l.open[0]
		l.close(o)
		l.open = slices.Delete(l.open, 0, 1)
	}
	o.second = second
	l.open = append(l.open, o)
	i, found := l.find(second)
	if found {
		o.hist.MergePacked(&l.cells[i].hist)
	} else {
		l.cells = slices.Insert(l.cells, i, cell{second: second})
	}
	return &o.hist
}

func (l *line) find(second int64) (int, bool) {
	if n := len(l.cells); n == 0 || l.cells[n-1].second < second {
		return n, false
	}
	return slices.BinarySearchFunc(l.cells, second, func(c cell, second int64) int { return cmp.Compare(c.second, second) })
}

// close packs an open second and empties it.
func (l *line) close(o *open) {
	i, _ := l.find(o.second)
	l.cells[i].hist = o.hist.Pack()
	o.hist.Reset()
}

// sort makes the line ready to be read. ranks are the sources' places.
func (l *line) sort(ranks []int32) {
	if !l.dirty {
		return
	}
	l.dirty = false
	for _, o := range l.open {
		l.close(o)
	}
	l.open = nil
	slices.SortStableFunc(l.points, func(a, b point) int {
		if a.second != b.second {
			return cmp.Compare(a.second, b.second)
		}
		order := cmp.Or(cmp.Compare(ranks[a.source], ranks[b.source]), cmp.Compare(a.sequence, b.sequence))
		if order == 0 && l.kind != metric.Gauge { // of a gauge the last to arrive counts
			order = cmp.Compare(a.value, b.value)
		}
		return order
	})
	points := l.points
	for i := range l.cells {
		c := &l.cells[i]
		c.hist.Sum = 0
		for ; len(points) > 0 && points[0].second == c.second; points = points[1:] {
			c.hist.Sum += points[0].value
		}
	}
}
