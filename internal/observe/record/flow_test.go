package record

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// A flow has its own traffic, without that of other flows and of setup(), and what was
// measured of the whole run.
func TestTimelineOfAFlow(t *testing.T) {
	count := func(name string, v float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.Of(name, labels...), v)
	}
	line := timelineOf(
		metric.Frame{Source: "worker/0", Second: 100, Points: []metric.Point{
			count(metric.Requests, 50, "name", "before"), // requests of setup()
			count(metric.Requests, 3, "name", "pay", "scenario", "payments"),
			count(metric.Requests, 7, "name", "view", "scenario", "viewers"),
			count(metric.TransactionsScheduled, 4, "scenario", "payments"),
			metric.GaugePoint(metric.Of(metric.WorkerCPUs), 2),
		}},
		metric.Frame{Source: metric.SourceService, Second: 100, Points: []metric.Point{count(metric.ServiceRequests, 60)}},
	).ofFlow(0, "payments")
	for name, want := range map[string]float64{metric.Requests: 3, metric.TransactionsScheduled: 4, metric.ServiceRequests: 60} {
		if got, _ := line.Sum(name, nil, All); got != want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if cpus, found := line.Gauge(metric.WorkerCPUs, nil, "worker/0", Span{From: 100, To: 101}); len(found) != 1 || !found[0] || cpus[0] != 2 {
		t.Errorf("%v, %v", cpus, found)
	}
}
