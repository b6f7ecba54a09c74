package gauge_test

import (
	"fmt"
	"testing"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/spec"
)

// Gauges of a service that does not run yet are not listed, unless the profile has their
// URL.
func TestMetrics(t *testing.T) {
	t.Parallel()
	o := gauge.Options{Profile: spec.Profile{
		Gauges: map[string]spec.Gauge{"queue_depth": {Metric: "jobs"}}, Reader: &spec.Lag{Metric: "lag", URL: "http://127.0.0.1:1/"},
	}}
	if got := fmt.Sprint(o.Metrics()); got != "[binlog_reader_lag]" {
		t.Errorf("without a service: %s", got)
	}
	o.Service = "http://127.0.0.1:1/metrics"
	if got := fmt.Sprint(o.Metrics()); got != "[binlog_reader_lag queue_depth]" {
		t.Errorf("with one: %s", got)
	}
	if got := len(gauge.New(o)); got != 2 {
		t.Errorf("%d collectors", got)
	}
	if got := len(gauge.New(gauge.Options{})); got != 0 {
		t.Errorf("%d collectors without gauges", got)
	}
}
