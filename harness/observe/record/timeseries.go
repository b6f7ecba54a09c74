package record

import (
	"cmp"
	"slices"

	"assay/harness/observe/metric"
)

// timeSeries is one series of one kind over time. It holds a value for each source and
// second, and one histogram for each second.
type timeSeries struct {
	key    string
	series metric.Series
	kind   metric.Kind
	source string // of a foreign series; the others are those of all sources
	length int64  // seconds of the intervals of a foreign series; 0: it is not foreign
	// points are the values of counters and gauges, and the sums of histograms. They
	// are kept by frame, and sorted by second, source and sequence before they are
	// read, so that they are added up in an order independent of their arrival.
	points       []point
	observations []uint64       // count of a histogram's observations, by source
	hists        []packedSecond // histograms, sorted by second
	open         []*openSecond  // seconds that are not packed, the most recently used last
	dirty        bool           // frames were added since the last sort
}

// point is the value of one frame.
type point struct {
	second   int64
	sequence uint64
	value    float64
	source   int32
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

func (s *timeSeries) add(f metric.Frame, source int32, p metric.Point) {
	s.dirty = true
	value := p.Value
	if p.Kind == metric.Histogram {
		value = p.Hist.Sum()
		s.at(f.Second).Merge(p.Hist)
		for len(s.observations) <= int(source) {
			s.observations = append(s.observations, 0)
		}
		s.observations[source] += p.Hist.Count()
	}
	s.points = append(s.points, point{f.Second, f.Sequence, value, source})
}

// at opens the histogram of a second.
func (s *timeSeries) at(second int64) *metric.Hist {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := s.open[i]; o.second == second {
			s.open = append(slices.Delete(s.open, i, i+1), o)
			return &o.hist
		}
	}
	o := &openSecond{}
	if len(s.open) == maxOpen {
		o = s.open[0]
		s.close(o)
		s.open = slices.Delete(s.open, 0, 1)
	}
	o.second = second
	s.open = append(s.open, o)
	i, found := s.find(second)
	if found {
		o.hist.MergePacked(&s.hists[i].hist)
	} else {
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

// close packs an open second and resets it for reuse.
func (s *timeSeries) close(o *openSecond) {
	i, _ := s.find(o.second)
	s.hists[i].hist = o.hist.Pack()
	o.hist.Reset()
}

// sort prepares the series for reading. ranks are those of the sources, by number.
func (s *timeSeries) sort(ranks []int32) {
	if !s.dirty {
		return
	}
	s.dirty = false
	for _, o := range s.open {
		s.close(o)
	}
	s.open = nil
	slices.SortStableFunc(s.points, func(a, b point) int {
		if a.second != b.second {
			return cmp.Compare(a.second, b.second)
		}
		order := cmp.Or(cmp.Compare(ranks[a.source], ranks[b.source]), cmp.Compare(a.sequence, b.sequence))
		if order == 0 && s.kind != metric.Gauge { // of gauges without a sequence the last to arrive counts
			order = cmp.Compare(a.value, b.value)
		}
		return order
	})
	points := s.points
	for i := range s.hists {
		p := &s.hists[i]
		p.hist.Sum = 0
		for ; len(points) > 0 && points[0].second == p.second; points = points[1:] {
			p.hist.Sum += points[0].value
		}
	}
}
