// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// Timeline holds the merged frames of a run: for each series and second the value of
// each source, and histograms over all sources. What foreign senders measured is kept
// apart, because it covers intervals of several seconds (Foreign). The order in which
// frames are added does not matter; of several gauges of one source in one second the
// one with the highest sequence counts. A frame whose sequence was added before is
// ignored, so that a resend counts once. It keeps no reference to the frames' points
// except their labels. Reading sorts on first use: a timeline must not be shared by
// goroutines.
type Timeline struct {
	series   map[string]*timeSeries   // by series key and kind, and of foreign ones by what else separates them
	named    map[string][]*timeSeries // by name; each list sorted by key if sorted
	foreign  map[string][]*timeSeries // likewise
	sorted   bool
	key      []byte // scratch
	sources  map[string]*stream
	bySource bySource
	examples map[string][]example      // exemplars of our own workers, by name of their series
	labels   map[string][]metric.Label // labels of exemplars, by their text
	pushed   Pushed

	selected   *selected  // the last that were read; nil: none since a series was added
	left       *allowance // nil: unlimited
	maxSources int        // 0: unlimited
	err        error      // why nothing is added any more

	// For foreign senders, which anybody may be: what is beyond these limits is left out.
	foreignLeft *allowance
	senders     int
	leftOut     LeftOut
}

// LeftOut is what foreign senders sent beyond the memory and time that their points may take,
// or what came from more senders than are read.
type LeftOut struct {
	Points int
	From   int64 // the first second of such a point

	// names are the metrics of such points. Beyond maxLeftNames, any metric may be one of them.
	names map[string]bool
}

// maxLeftNames bounds the names of metrics that are known to be left out.
const maxLeftNames = 1000

// Has reports whether samples of a metric may have been left out.
func (l LeftOut) Has(name string) bool { return l.names[name] || len(l.names) >= maxLeftNames }

// LeftOut says what was left out.
func (t *Timeline) LeftOut() LeftOut { return t.leftOut }

func (t *Timeline) leaveOut(f metric.Frame, points []metric.Point) {
	left := &t.leftOut
	if left.Points == 0 {
		left.From, left.names = f.Second, map[string]bool{}
	}
	left.Points, left.From = left.Points+len(points), min(left.From, f.Second)
	for _, p := range points {
		if len(left.names) < maxLeftNames {
			left.names[metric.WithoutRate(p.Series.Name)] = true
		}
	}
}

// Source is what was received from one sender.
type Source struct {
	Name    string
	Frames  uint64         // frames received, without the closing frame
	Highest uint64         // highest sequence received, including the closing frame's
	Missing uint64         // sequences below Highest that were not received
	Closed  bool           // its closing frame was received
	Totals  []metric.Point // points of the closing frame
}

// stream is a Source while frames are added.
type stream struct {
	Source
	seen    sequences // received
	closing uint64    // sequence of the closing frame
}

// NewTimeline makes an empty timeline.
func NewTimeline() *Timeline {
	return &Timeline{series: map[string]*timeSeries{}, named: map[string][]*timeSeries{}, foreign: map[string][]*timeSeries{}, sources: map[string]*stream{}, examples: map[string][]example{}, labels: map[string][]metric.Label{}}
}

// Add merges one frame.
func (t *Timeline) Add(f metric.Frame) {
	if t.err != nil {
		return
	}
	left, foreign := t.left, metric.IsForeign(f.Source)
	if foreign {
		left = t.foreignLeft
		if isNew := t.sources[f.Source] == nil; left.err() != nil || isNew && t.maxSources > 0 && t.senders == maxSources {
			t.leaveOut(f, f.Points)
			return
		} else if isNew {
			t.senders++
		}
	}
	src := t.source(f.Source, left)
	if f.Sequence > 0 && !src.seen.add(f.Sequence) {
		return
	}
	switch {
	case t.maxSources > 0 && len(t.sources)-t.senders > t.maxSources:
		t.err = fmt.Errorf("more than %d sources", t.maxSources)
		return
	case t.left != nil && len(src.seen.ranges) > maxGaps:
		t.err = fmt.Errorf("more than %d gaps between the frames of %.100q", maxGaps, f.Source)
		return
	}
	src.Highest = max(src.Highest, f.Sequence)
	if f.Closing {
		if !src.Closed || f.Sequence > src.closing {
			src.Totals, src.closing = f.Clone().Points, f.Sequence
			for _, p := range f.Points {
				t.left.spend(totalBytes+p.Hist.Size(), 0)
			}
			t.err = t.left.err()
		}
		src.Closed = true
		return
	}
	src.Frames++
	for i, p := range f.Points {
		s := t.seriesOf(p, f, left)
		s.add(f, p, left)
		t.addExemplars(s, p, left)
		if foreign {
			if left.spend(foreignBytes, foreignWork); left.err() != nil {
				t.leaveOut(f, f.Points[i+1:])
				return
			}
		} else if t.err = left.err(); t.err != nil {
			return
		}
	}
	if !foreign {
		t.bySource.add(f, left)
	}
}

// checkRead returns an error if it would take too long to read what was added. A second of a
// series is found by looking at each of its sources, and one of the series that collectors
// sent under a name by looking at all of them.
func (t *Timeline) checkRead() error {
	for _, s := range t.series {
		if s.length > 0 { // foreign, of one source
			continue
		}
		points := 0
		for _, c := range s.columns {
			points += 1 + len(c.packed)/3 // at most
		}
		t.left.spend(0, len(s.columns)*points/16)
	}
	for name, all := range t.named {
		pairs := len(all) * len(all)
		if isTraffic(name) && name != metric.ErrorsByClass {
			pairs /= 4 // only the endpoints of traffic are described one by one
		}
		t.left.spend(0, 2*pairs)
	}
	classes := map[string]bool{}
	for _, s := range t.named[metric.DBSession] {
		if classes[s.series.Label("class")] = true; len(classes) > maxClasses {
			return fmt.Errorf("read frames: more than %d classes of waits", maxClasses)
		}
	}
	if err := t.left.err(); err != nil {
		return fmt.Errorf("read frames: %w", err)
	}
	return nil
}

// Without is the timeline without the series of this name.
func (t *Timeline) Without(name string) *Timeline {
	without := *t
	without.series, without.named, without.foreign = maps.Clone(t.series), maps.Clone(t.named), maps.Clone(t.foreign)
	for _, named := range []map[string][]*timeSeries{without.named, without.foreign} {
		for _, s := range named[name] {
			delete(without.series, s.key)
		}
		delete(named, name)
	}
	return &without
}

func (t *Timeline) source(name string, left *allowance) *stream {
	src := t.sources[name]
	if src == nil {
		src = &stream{Source: Source{Name: name}}
		t.sources[name] = src
		left.spend(sourceBytes+len(name), 0)
	}
	return src
}

func (t *Timeline) seriesOf(p metric.Point, f metric.Frame, left *allowance) *timeSeries {
	t.key = append(p.Series.AppendKey(t.key[:0]), 0, byte(p.Kind))
	named, length := t.named, int64(0)
	if metric.IsForeign(f.Source) {
		named, length = t.foreign, max(f.Length, 1)
		for _, part := range []string{f.Source, p.Series.Unit} {
			t.key = append(append(t.key, 0xff), part...) // which no text holds, as all are UTF-8
		}
		t.key = binary.AppendVarint(append(t.key, 0xff), length)
	}
	s := t.series[string(t.key)]
	if s == nil {
		key := string(t.key)
		s = &timeSeries{key: key, series: p.Series, kind: p.Kind, source: f.Source, length: length}
		t.series[key] = s
		left.spend(seriesBytes+2*len(key), 0)
		named[p.Series.Name] = append(named[p.Series.Name], s)
		t.sorted, t.selected = false, nil
	}
	return s
}

// Sources lists the senders, sorted by name.
func (t *Timeline) Sources() []Source {
	all := make([]Source, 0, len(t.sources))
	for _, name := range slices.Sorted(maps.Keys(t.sources)) {
		s := t.sources[name]
		s.Missing = s.Highest - s.seen.count
		all = append(all, s.Source)
	}
	return all
}

// of lists the series of a name in the order of their keys, without foreign ones.
func (t *Timeline) of(name string) []*timeSeries {
	t.sortSeries()
	return t.named[name]
}

func (t *Timeline) sortSeries() {
	if t.sorted {
		return
	}
	for _, named := range []map[string][]*timeSeries{t.named, t.foreign} {
		for _, all := range named {
			slices.SortFunc(all, func(a, b *timeSeries) int { return cmp.Compare(a.key, b.key) })
		}
	}
	t.sorted = true
}

// sequences is a set of sequences. Those of one source follow each other, so that it
// holds few ranges however long a run is.
type sequences struct {
	ranges []sequenceRange // sorted; neither overlapping nor adjacent
	count  uint64
}

// sequenceRange is first to last, both included.
type sequenceRange struct{ first, last uint64 }

// add adds a sequence; false: it was there before.
func (s *sequences) add(n uint64) bool {
	at, found := slices.BinarySearchFunc(s.ranges, n, func(r sequenceRange, n uint64) int {
		if r.first <= n && n <= r.last {
			return 0
		}
		return cmp.Compare(r.first, n)
	})
	if found {
		return false
	}
	s.count++
	extends := at > 0 && s.ranges[at-1].last == n-1
	precedes := at < len(s.ranges) && s.ranges[at].first-1 == n
	switch {
	case extends && precedes:
		s.ranges[at-1].last = s.ranges[at].last
		s.ranges = slices.Delete(s.ranges, at, at+1)
	case extends:
		s.ranges[at-1].last = n
	case precedes:
		s.ranges[at].first = n
	default:
		s.ranges = slices.Insert(s.ranges, at, sequenceRange{n, n})
	}
	return true
}
