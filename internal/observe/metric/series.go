// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"slices"
	"strings"
)

// Kind says how points of a series are merged.
type Kind uint8

// The kinds of series.
const (
	Counter   Kind = iota + 1 // increase in this second; merged by sum
	Gauge                     // last value in this second; summed over sources, the latest within one source
	Histogram                 // observations in this second; merged by bucket

	// Rate is a share of samples. Frames hold two counters for it, NAME.occurred and
	// NAME.total, so that only the catalogue has this kind.
	Rate
)

var kinds = [...]string{"unknown", "counter", "gauge", "histogram", "rate"}

func (k Kind) String() string {
	if int(k) >= len(kinds) {
		k = 0
	}
	return kinds[k]
}

// Label is one key and value of a series.
type Label struct{ Key, Value string }

// Series identifies what is measured: a metric's name and labels, sorted by key.
type Series struct {
	Name   string
	Unit   string // UCUM: "ms", "By", "s", "1" or empty
	Labels []Label
}

// NewSeries makes a series with labels given as key, value, key, value. Labels with an
// empty value are omitted: a missing label equals an empty one. It keeps the first of several
// values for one key.
func NewSeries(name, unit string, keyValues ...string) Series {
	s := Series{Name: name, Unit: unit}
	for i := 0; i+1 < len(keyValues); i += 2 {
		if keyValues[i+1] != "" {
			s.Labels = append(s.Labels, Label{keyValues[i], keyValues[i+1]})
		}
	}
	slices.SortStableFunc(s.Labels, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	s.Labels = slices.CompactFunc(s.Labels, func(a, b Label) bool { return a.Key == b.Key })
	return s
}

// Label returns the value of a label, or "" if the series does not have it.
func (s Series) Label(key string) string {
	for _, l := range s.Labels {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

// Matches reports whether the series has every label of the selector with the same
// value.
func (s Series) Matches(selector []Label) bool {
	for _, want := range selector {
		if s.Label(want.Key) != want.Value {
			return false
		}
	}
	return true
}

// Key is the series as text, name{key:value,...}. Two keys are equal if and only if
// name and labels are.
func (s Series) Key() string { return string(s.AppendKey(nil)) }

// AppendKey appends the key.
func (s Series) AppendKey(b []byte) []byte {
	// A foreign name may contain a brace, which would read as labels. The colons of
	// Prometheus names need no escape.
	b = appendEscaped(b, s.Name, &nameEscapes)
	if len(s.Labels) == 0 {
		return b
	}
	b = append(b, '{')
	for i, l := range s.Labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEscaped(b, l.Key, &labelEscapes)
		b = append(b, ':')
		b = appendEscaped(b, l.Value, &labelEscapes)
	}
	return append(b, '}')
}

// escapes is a set of bytes to escape.
type escapes [256]bool

var nameEscapes, labelEscapes = escapesOf(`\{`), escapesOf(`\,:{}`)

func escapesOf(text string) (e escapes) {
	for i := range len(text) {
		e[text[i]] = true
	}
	return e
}

func appendEscaped(b []byte, text string, escapes *escapes) []byte {
	from := 0
	for i := range len(text) {
		if escapes[text[i]] {
			b = append(append(b, text[from:i]...), '\\')
			from = i
		}
	}
	return append(b, text[from:]...)
}

// Point is the value of one series in the second of its frame: Value of a counter or
// a gauge, Hist of a histogram.
type Point struct {
	Series    Series
	Kind      Kind
	Value     float64
	Hist      *Hist
	Exemplars []Exemplar // exemplars of a histogram
}

// Frame holds additive metrics of one second from one source. A late completion is
// sent in a further frame for its second. Frames of foreign senders may cover several
// seconds.
type Frame struct {
	Source   string // "worker/0", "database", ...: see the constants
	Sequence uint64 // 1, 2, 3, ... without gaps within its source; 0: not numbered (foreign OTLP)
	Second   int64  // unix second to which the points belong, or in which their interval ends
	Length   int64  // seconds that the interval touches, Second included; 0 and 1: that second alone
	Closing  bool   // last frame of its source; its points are totals over the stream
	Points   []Point
}

// First is the first second of the interval to which the points belong.
func (f Frame) First() int64 { return f.Second - max(f.Length, 1) + 1 }

// Clone copies the frame with its histograms and exemplars.
func (f Frame) Clone() Frame {
	f.Points = slices.Clone(f.Points)
	for i, p := range f.Points {
		if p.Hist != nil {
			f.Points[i].Hist = p.Hist.Clone()
			f.Points[i].Exemplars = slices.Clone(p.Exemplars)
		}
	}
	return f
}

// CounterPoint makes a counter's point.
func CounterPoint(s Series, v float64) Point { return Point{Series: s, Kind: Counter, Value: v} }

// GaugePoint makes a gauge's point.
func GaugePoint(s Series, v float64) Point { return Point{Series: s, Kind: Gauge, Value: v} }

// HistPoint makes a histogram's point. It does not copy the histogram.
func HistPoint(s Series, h *Hist) Point { return Point{Series: s, Kind: Histogram, Hist: h} }
