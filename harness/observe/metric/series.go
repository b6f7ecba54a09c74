package metric

import (
	"slices"
	"strings"
)

// Kind says how points of a series are merged.
type Kind uint8

// The kinds of series.
const (
	Counter   Kind = iota + 1 // increments of this second; merged by sum
	Gauge                     // last value of this second; merged by sum over sources, by latest within one
	Histogram                 // observations of this second; merged bucket by bucket

	// Rate is a share of samples. In frames it is two counters, NAME.occurred and
	// NAME.total, so that only the catalogue knows this kind.
	Rate
)

func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	case Histogram:
		return "histogram"
	case Rate:
		return "rate"
	}
	return "unknown"
}

// Label is one key and value of a series.
type Label struct{ Key, Value string }

// Series names what is measured: a metric and its labels, sorted by key.
type Series struct {
	Name   string
	Unit   string // UCUM: "ms", "By", "s", "1" or empty
	Labels []Label
}

// NewSeries sorts the labels, given as key, value, key, value. Empty values are
// left out: a label that is not there and an empty one are the same. Of several
// values for one key the first stays.
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

// Label returns the value of a label, or "" where the series has none.
func (s Series) Label(key string) string {
	for _, l := range s.Labels {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

// Matches reports whether every label of the selector stands in the series
// with the same value.
func (s Series) Matches(selector []Label) bool {
	for _, want := range selector {
		if s.Label(want.Key) != want.Value {
			return false
		}
	}
	return true
}

// Key is the series as text, name{key:value,...}, equal exactly where name and
// labels are equal.
func (s Series) Key() string { return string(s.AppendKey(nil)) }

// AppendKey appends the key.
func (s Series) AppendKey(b []byte) []byte {
	// A name from elsewhere may hold a brace, which would read as labels; the
	// colons of Prometheus's names may stay.
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

// escapes are the bytes that a text would be misread with.
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
