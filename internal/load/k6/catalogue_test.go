package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
)

// The catalogue has k6's own metrics as this version of k6 registers them, and no
// others.
func TestCatalogueHasTheMetricsOfK6(t *testing.T) {
	kinds := map[metrics.MetricType]metric.Kind{
		metrics.Counter: metric.Counter, metrics.Gauge: metric.Gauge, metrics.Rate: metric.Rate, metrics.Trend: metric.Histogram,
	}
	registered := map[string]bool{}
	for _, m := range newK6Metrics().registry.All() {
		registered[m.Name] = true
		d, ok := metric.Find(m.Name)
		if !ok || !d.From(metric.SourceK6) || d.Kind != kinds[m.Type] || d.Unit != unit(m) {
			t.Errorf("k6 has %s, a %s in %q; the catalogue %+v", m.Name, m.Type, unit(m), d)
		}
	}
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.From(metric.SourceK6) }) {
		if !registered[d.Name] && !d.From(metric.SourceWorker) {
			t.Errorf("k6 has no %s", d.Name)
		}
	}
}

// The frames of a worker, including the closing one, agree with the catalogue.
func TestWorkersFollowTheCatalogue(t *testing.T) {
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), DisplacedAfter: time.Millisecond}}})
	a.start(time.Now(), time.Now())
	a.add([]metrics.SampleContainer{
		newK6Metrics().trail(time.Now(), "pay", "1", 300*time.Millisecond, true),
		arrivals.Scheduled{Scenario: "payment", Slots: 1},
		arrivals.Stall{Scenario: "payment", To: time.Second, Delay: time.Second},
		&arrivals.Transaction{Scenario: "payment", Latency: 20 * time.Millisecond, VU: "1", Lag: 500 * time.Millisecond, Queueing: time.Millisecond},
	})
	all := newSelfMeter(metric.WorkerSource(0)).points()
	taken := a.take(1 << 62)
	for i := range taken.seconds {
		all = append(all, taken.buckets[i].points(taken.series, taken.kinds)...)
	}
	if len(all) < 20 {
		t.Errorf("only %d points", len(all))
	}
	metrictest.Check(t, metric.Frame{Source: metric.WorkerSource(0), Points: append(all, a.closing(3)...)})
}
