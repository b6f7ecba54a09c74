package record

import (
	"cmp"
	"slices"

	"assay/harness/observe/metric"
)

// Timeline is all frames of a run, merged: for each series and second the value of
// each source, and histograms over all sources. The order in which frames are added
// does not matter; of several gauges of one source in one second the one with the
// highest sequence counts. A frame with a sequence that was added before is ignored,
// so that a resend counts once. It keeps no reference to the frames' points except
// their labels. Reading sorts on first use: a timeline belongs to one goroutine.
type Timeline struct {
	lines   map[string]*line   // by series key and kind
	named   map[string][]*line // by name, sorted by key once read
	sorted  bool
	key     []byte // scratch
	sources map[string]*stream
	order   []*stream // by number
	ranked  []int32   // place of each source among their names, by number; once read
}

// Source is what was received from one sender.
type Source struct {
	Name    string
	Frames  uint64         // frames received, the closing one not counted
	Highest uint64         // highest sequence received, the closing frame's included
	Missing uint64         // sequences below Highest that were not received
	Closed  bool           // its closing frame was received
	Totals  []metric.Point // of the closing frame
}

// stream is a Source while frames are added.
type stream struct {
	Source
	number  int32           // in the order of arrival
	seen    map[uint64]bool // sequences received
	closing uint64          // sequence of the closing frame
}

// NewTimeline makes an empty timeline.
func NewTimeline() *Timeline {
	return &Timeline{lines: map[string]*line{}, named: map[string][]*line{}, sources: map[string]*stream{}}
}

// Add merges one frame.
func (t *Timeline) Add(f metric.Frame) {
	src := t.source(f.Source)
	if f.Sequence > 0 {
		if src.seen[f.Sequence] {
			return
		}
		src.seen[f.Sequence] = true
	}
	src.Highest = max(src.Highest, f.Sequence)
	if f.Closing {
		if !src.Closed || f.Sequence > src.closing {
			src.Totals, src.closing = clone(f.Points), f.Sequence
		}
		src.Closed = true
		return
	}
	src.Frames++
	for _, p := range f.Points {
		t.line(p).add(f, src.number, p)
	}
}

func (t *Timeline) source(name string) *stream {
	src := t.sources[name]
	if src == nil {
		src = &stream{Source: Source{Name: name}, number: int32(len(t.order)), seen: map[uint64]bool{}}
		t.sources[name] = src
		t.order, t.ranked = append(t.order, src), nil
	}
	return src
}

// clone copies points and their histograms, which belong to the sender.
func clone(points []metric.Point) []metric.Point {
	points = slices.Clone(points)
	for i, p := range points {
		if p.Hist != nil {
			points[i].Hist = p.Hist.Clone()
		}
	}
	return points
}

func (t *Timeline) line(p metric.Point) *line {
	t.key = append(p.Series.AppendKey(t.key[:0]), 0, byte(p.Kind))
	l := t.lines[string(t.key)]
	if l == nil {
		key := string(t.key)
		l = &line{key: key, series: p.Series, kind: p.Kind}
		t.lines[key] = l
		t.named[p.Series.Name] = append(t.named[p.Series.Name], l)
		t.sorted = false
	}
	return l
}

// Sources lists the senders, sorted by name.
func (t *Timeline) Sources() []Source {
	all := make([]Source, 0, len(t.order))
	for _, s := range t.order {
		s.Missing = s.Highest - uint64(len(s.seen))
		all = append(all, s.Source)
	}
	slices.SortFunc(all, func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// ranks are the places of the sources in the order of their names, in which sums are
// made.
func (t *Timeline) ranks() []int32 {
	if t.ranked == nil {
		byName := slices.Clone(t.order)
		slices.SortFunc(byName, func(a, b *stream) int { return cmp.Compare(a.Name, b.Name) })
		t.ranked = make([]int32, len(byName))
		for rank, s := range byName {
			t.ranked[s.number] = int32(rank)
		}
	}
	return t.ranked
}

// of lists the series of a name in the order of their keys.
func (t *Timeline) of(name string) []*line {
	if !t.sorted {
		for _, lines := range t.named {
			slices.SortFunc(lines, func(a, b *line) int { return cmp.Compare(a.key, b.key) })
		}
		t.sorted = true
	}
	return t.named[name]
}
