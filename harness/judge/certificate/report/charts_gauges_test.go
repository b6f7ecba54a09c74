package report

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// queued is a run in which a queue is as deep as the second, but for a gap.
func queued() record.Run {
	p := synthetic.Profile()
	p.SLOs = append(p.SLOs, synthetic.Percentile("queue_depth", 95, 40), spec.SLO{Metric: "queue_depth", Expression: "max<60", Aggregate: spec.Max, Operator: "<", Bound: 60})
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

// A gauge that SLOs judge has a chart with their bounds; others have none.
func TestGaugeCurves(t *testing.T) {
	if c := charts("pass"); len(c.Gauges) > 0 {
		t.Errorf("%d charts of gauges that nothing judges", len(c.Gauges))
	}
	c := NewCharts(queued())
	if len(c.Gauges) != 1 {
		t.Fatalf("%d charts", len(c.Gauges))
	}
	g := c.Gauges[0]
	if g.Title != "queue_depth" || len(g.Values) != 48 || *g.Values[7] != 7 || g.Values[30] != nil {
		t.Errorf("%+v", g)
	}
	if diff := cmp.Diff([]bound{{"p(95)<40", 40}, {"max<60", 60}}, g.Bounds); diff != "" {
		t.Error(diff)
	}
}

func TestGaugeIsDrawn(t *testing.T) {
	r := queued()
	page, err := HTML(certificate.Of(r), NewCharts(r))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), `<figure data-chart="gauge" data-gauge="queue_depth"><figcaption>queue_depth</figcaption></figure>`) {
		t.Error("the page has no figure of it")
	}
	var pixels []int
	opened(t, browser(t), page, chromedp.Evaluate(painted, &pixels))
	if len(pixels) != 5 || pixels[4] < 100 {
		t.Errorf("pixels of the curves: %v", pixels)
	}
}
