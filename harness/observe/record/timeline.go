package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"assay/harness/load/plan"
	"assay/harness/observe/metric"
)

// Timeline is all frames of a run, folded: for each source and series one
// merged point a second. The order in which frames were added does not matter,
// but for gauges of one source in one second, of which the one with the
// highest sequence stays. A numbered frame that was added before is left out,
// so that a resend counts once. Reading sorts on first use: a timeline belongs
// to one goroutine.
type Timeline struct {
	series  map[string]*line // by series key and kind
	order   []*line          // sorted by key, once read
	sources map[string]*stream
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

// stream is a Source while frames come in.
type stream struct {
	Source
	seen    map[uint64]bool // sequences received
	closing uint64          // sequence of the closing frame
}

type line struct {
	key     string
	series  metric.Series
	kind    metric.Kind
	cells   map[int64]map[string]*cell // second -> source
	seconds []int64                    // of cells, sorted, once read
}

type cell struct {
	value    float64
	hist     *metric.Hist
	sequence uint64
}

// NewTimeline makes an empty timeline.
func NewTimeline() *Timeline {
	return &Timeline{series: map[string]*line{}, sources: map[string]*stream{}}
}

// Add folds one frame in.
func (t *Timeline) Add(f metric.Frame) {
	src := t.sources[f.Source]
	if src == nil {
		src = &stream{Source: Source{Name: f.Source}, seen: map[uint64]bool{}}
		t.sources[f.Source] = src
	}
	if f.Sequence > 0 {
		if src.seen[f.Sequence] {
			return
		}
		src.seen[f.Sequence] = true
	}
	src.Highest = max(src.Highest, f.Sequence)
	if f.Closing {
		if !src.Closed || f.Sequence > src.closing {
			src.Totals, src.closing = f.Points, f.Sequence
		}
		src.Closed = true
		return
	}
	src.Frames++
	for _, p := range f.Points {
		t.line(p).add(f, p)
	}
}

func (t *Timeline) line(p metric.Point) *line {
	key := p.Series.Key() + "\x00" + p.Kind.String()
	l := t.series[key]
	if l == nil {
		l = &line{key: key, series: p.Series, kind: p.Kind, cells: map[int64]map[string]*cell{}}
		t.series[key] = l
		t.order = nil
	}
	return l
}

func (l *line) add(f metric.Frame, p metric.Point) {
	second := l.cells[f.Second]
	if second == nil {
		second = map[string]*cell{}
		l.cells[f.Second] = second
		l.seconds = nil
	}
	c := second[f.Source]
	if c == nil {
		c = &cell{}
		second[f.Source] = c
	}
	switch p.Kind {
	case metric.Counter:
		c.value += p.Value
	case metric.Gauge:
		if f.Sequence >= c.sequence {
			c.value, c.sequence = p.Value, f.Sequence
		}
	case metric.Histogram:
		if c.hist == nil {
			c.hist = &metric.Hist{}
		}
		c.hist.Merge(p.Hist)
	}
}

// Sources lists the senders, sorted by name.
func (t *Timeline) Sources() []Source {
	all := make([]Source, 0, len(t.sources))
	for _, s := range t.sources {
		s.Missing = s.Highest - uint64(len(s.seen))
		all = append(all, s.Source)
	}
	slices.SortFunc(all, func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Span is a span of unix seconds, [From, To).
type Span struct{ From, To int64 }

// All holds every second. It is for sums: Counts and Gauge make a value for
// each second of their span.
var All = Span{From: math.MinInt64, To: math.MaxInt64}

// SpanOf places a window of the plan in time.
func SpanOf(t0 time.Time, w plan.Window) Span {
	return Span{
		From: t0.Unix() + int64(w.Start/time.Second),
		To:   t0.Unix() + int64(w.End/time.Second),
	}
}

// Seconds is the span's length.
func (s Span) Seconds() int64 { return s.To - s.From }

// Sum adds up what a counter did within the span, over all sources and all
// series of that name that match the selector; false where there is no such
// series with a point in the span.
func (t *Timeline) Sum(name string, selector []metric.Label, span Span) (total float64, found bool) {
	t.each(name, metric.Counter, selector, span, func(_ int64, _ string, c *cell) {
		total, found = total+c.value, true
	})
	return total, found
}

// Hist merges a histogram within the span, over all sources and all series of
// that name that match the selector. It is empty where there is none.
func (t *Timeline) Hist(name string, selector []metric.Label, span Span) *metric.Hist {
	h := &metric.Hist{}
	t.each(name, metric.Histogram, selector, span, func(_ int64, _ string, c *cell) { h.Merge(c.hist) })
	return h
}

// Counts is Sum second by second: one value for each second of the span, 0
// where nothing came.
func (t *Timeline) Counts(name string, selector []metric.Label, span Span) []float64 {
	out := make([]float64, max(0, span.Seconds()))
	t.each(name, metric.Counter, selector, span, func(second int64, _ string, c *cell) {
		out[second-span.From] += c.value
	})
	return out
}

// Gauge is a gauge of one source, second by second; ok tells the seconds that
// have a value.
func (t *Timeline) Gauge(name string, selector []metric.Label, source string, span Span) (values []float64, ok []bool) {
	values, ok = make([]float64, max(0, span.Seconds())), make([]bool, max(0, span.Seconds()))
	t.each(name, metric.Gauge, selector, span, func(second int64, from string, c *cell) {
		if from == source {
			values[second-span.From] += c.value
			ok[second-span.From] = true
		}
	})
	return values, ok
}

// SumOf is Sum for one source.
func (t *Timeline) SumOf(source, name string, selector []metric.Label, span Span) (total float64, found bool) {
	t.each(name, metric.Counter, selector, span, func(_ int64, from string, c *cell) {
		if from == source {
			total, found = total+c.value, true
		}
	})
	return total, found
}

// HistOf is Hist for one source.
func (t *Timeline) HistOf(source, name string, selector []metric.Label, span Span) *metric.Hist {
	h := &metric.Hist{}
	t.each(name, metric.Histogram, selector, span, func(_ int64, from string, c *cell) {
		if from == source {
			h.Merge(c.hist)
		}
	})
	return h
}

// BySecond is Sum for each second that has a point, over the whole run.
func (t *Timeline) BySecond(name string, selector []metric.Label) map[int64]float64 {
	out := map[int64]float64{}
	t.each(name, metric.Counter, selector, All, func(second int64, _ string, c *cell) { out[second] += c.value })
	return out
}

// Series lists the series of a name, sorted by key.
func (t *Timeline) Series(name string) (all []metric.Series) {
	for _, l := range t.sorted() {
		if l.series.Name == name {
			all = append(all, l.series)
		}
	}
	return all
}

func (t *Timeline) sorted() []*line {
	if t.order == nil {
		for _, l := range t.series {
			t.order = append(t.order, l)
		}
		slices.SortFunc(t.order, func(a, b *line) int { return cmp.Compare(a.key, b.key) })
	}
	return t.order
}

// each visits the cells in a fixed order, so that sums of floating-point
// numbers come out the same every time.
func (t *Timeline) each(name string, kind metric.Kind, selector []metric.Label, span Span, visit func(second int64, source string, c *cell)) {
	for _, l := range t.sorted() {
		if l.series.Name != name || l.kind != kind || !l.series.Matches(selector) {
			continue
		}
		if l.seconds == nil {
			l.seconds = slices.Sorted(maps.Keys(l.cells))
		}
		first, _ := slices.BinarySearch(l.seconds, span.From)
		for _, second := range l.seconds[first:] {
			if second >= span.To {
				break
			}
			cells := l.cells[second]
			for _, source := range slices.Sorted(maps.Keys(cells)) {
				visit(second, source, cells[source])
			}
		}
	}
}
