package record

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// A gauge is added up over sources and series; within one source the newest value
// counts. A second without a value has none.
func TestGaugeSum(t *testing.T) {
	timeline := NewTimeline()
	for _, f := range []struct {
		source   string
		sequence uint64
		pool     string
		v        float64
	}{{"a", 2, "x", 5}, {"a", 1, "x", 7}, {"a", 3, "y", 2}, {"b", 1, "x", 10}} {
		timeline.Add(metric.Frame{Source: f.source, Sequence: f.sequence, Second: 100, Points: []metric.Point{
			metric.GaugePoint(metric.NewSeries("open", "", "pool", f.pool), f.v),
		}})
	}
	if v, ok := timeline.GaugeSum("open", nil, 100); !ok || v != 17 {
		t.Errorf("all: %g, %t", v, ok)
	}
	if v, ok := timeline.GaugeSum("open", []metric.Label{{Key: "pool", Value: "x"}}, 100); !ok || v != 15 {
		t.Errorf("pool x: %g, %t", v, ok)
	}
	if v, ok := timeline.GaugeSum("open", nil, 101); ok {
		t.Errorf("a second without a value has %g", v)
	}
}
