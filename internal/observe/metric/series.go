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

// Series identifies what is measured: a metric's name and labels, sorted by key.
type Series struct {
	Name   string
	Unit   string // UCUM: "ms", "By", "s", "1" or empty
	Labels []Label
}

// NewSeries makes a series with labels given as key, value, key, value. Labels with an
// empty value are omitted: a missing label equals an empty one. Of several values for
// one key it keeps the first.
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
