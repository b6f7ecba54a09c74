package report

import (
	"math"
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// queueRun is a run in which the queue depth equals the second, with a gap.
func queueRun() record.Run {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Percentile("queue_depth", 95, 40), spec.SLO{Metric: "queue_depth", Expression: "max<60", Aggregate: spec.Max, Operator: "<", Bound: 60})
	c := synthetic.New(p, 1, synthetic.Healthy)
	for second := range int64(48) {
		if second != 30 {
			c.Frames = append(c.Frames, metric.Frame{
				Source: metric.SourceGauges, Sequence: uint64(second + 1), Second: synthetic.T0.Unix() + second,
				Points: []metric.Point{metric.GaugePoint(metric.Of("queue_depth"), float64(second))},
			})
		}
	}
	return c.Record()
}

// What the verdict does not count as a reading is not drawn, and the page can be written.
func TestGaugeWithoutReadings(t *testing.T) {
	r := queueRun()
	for second, v := range map[int64]float64{5: math.NaN(), 6: math.Inf(1), 7: -1} {
		r.Timeline.Add(metric.Frame{
			Source: metric.SourceGauges, Sequence: uint64(100 + second), Second: synthetic.T0.Unix() + second,
			Points: []metric.Point{metric.GaugePoint(metric.Of("queue_depth"), v)},
		})
	}
	timeline := NewTimeline(r)
	values := chart(t, timeline.Curves, "queue_depth").Curves[0].Values
	for second := 5; second <= 7; second++ {
		if values[second] != nil {
			t.Errorf("second %d is %g", second, *values[second])
		}
	}
	html, err := page.HTML(Full(build.Of(r), timeline, ""))
	if err != nil || strings.Contains(string(html), "unsupported value") {
		t.Errorf("the charts cannot be written: %v", err)
	}
}

// A gauge with SLOs has a chart with their bounds; other gauges have none.
func TestGaugeCharts(t *testing.T) {
	known := len(timeline("pass").Curves.Charts)
	c := NewTimeline(queueRun()).Curves
	if len(c.Charts) != known+1 {
		t.Fatalf("%d charts, want one more than %d", len(c.Charts), known)
	}
	curves := chart(t, c, "queue_depth").Curves
	if len(curves) != 3 || len(curves[0].Values) != 48 || *curves[0].Values[7] != 7 || curves[0].Values[30] != nil {
		t.Fatalf("%+v", curves)
	}
	for i, want := range []struct {
		label string
		level float64
	}{{"p(95)<40", 40}, {"max<60", 60}} {
		if got := curves[i+1]; got.Label != want.label || got.Level == nil || *got.Level != want.level {
			t.Errorf("bound %d is %+v, want %v", i, got, want)
		}
	}
}
