package metric

// Point is what one series did in the second of its frame. Value is used by
// counters and gauges, Hist by histograms.
type Point struct {
	Series Series
	Kind   Kind
	Value  float64
	Hist   *Hist
}

// Frame is the additive metrics of one second from one source. A late
// completion comes as a further frame for its second.
type Frame struct {
	Source   string // "worker/0", "database", ...: see the constants
	Sequence uint64 // 1, 2, 3, ... without a gap within its source; 0 = the sender does not number (foreign OTLP)
	Second   int64  // unix second to which the points belong
	Closing  bool   // last frame of its source; its points are the stream's totals
	Points   []Point
}

// CounterPoint makes a point of a counter.
func CounterPoint(s Series, v float64) Point { return Point{Series: s, Kind: Counter, Value: v} }

// GaugePoint makes a point of a gauge.
func GaugePoint(s Series, v float64) Point { return Point{Series: s, Kind: Gauge, Value: v} }

// HistPoint makes a point of a histogram, which it does not copy.
func HistPoint(s Series, h *Hist) Point { return Point{Series: s, Kind: Histogram, Hist: h} }
