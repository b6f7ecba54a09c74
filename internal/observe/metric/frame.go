// SPDX-License-Identifier: Apache-2.0

package metric

import "slices"

// Point is the value of one series in the second of its frame: Value of a counter or
// a gauge, Hist of a histogram.
type Point struct {
	Series    Series
	Kind      Kind
	Value     float64
	Hist      *Hist
	Exemplars []Exemplar // of a histogram
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
