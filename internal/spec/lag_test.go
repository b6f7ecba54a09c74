package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/spec"
)

// Lags of readers are judged second by second; workers do not count their violations.
func TestLagOfReaders(t *testing.T) {
	f := decode(t, "testdata/good/lag.json")
	if diff := cmp.Diff(&spec.Lag{SQL: "SELECT lag_ms FROM progress"}, f.Profiles["by-sql"].Reader); diff != "" {
		t.Error(diff)
	}
	want := &spec.Lag{Metric: "debezium_metrics_MilliSecondsBehindSource", Unit: spec.UnitSeconds, URL: "http://127.0.0.1:9404/metrics"}
	if diff := cmp.Diff(want, f.Profiles["by-metric"].Reader); diff != "" {
		t.Error(diff)
	}
	p := f.Profiles["by-sql"]
	if len(p.Flows[0].SLOs) != 3 {
		t.Fatalf("%d SLOs", len(p.Flows[0].SLOs))
	}
	for _, s := range p.Flows[0].SLOs {
		if s.Kind() != spec.KindGauge || s.Latency() {
			t.Errorf("%s is treated as decided by samples of the load", s.ID())
		}
	}
	if err := p.CheckMetrics(nil); err != nil {
		t.Error(err)
	}
	var taken *spec.Error
	if err := p.CheckMetrics(map[string]string{"replica_lag": "trend"}); !errors.As(err, &taken) || !strings.Contains(taken.Problem, "which is a metric of Assay") {
		t.Errorf("%v", err)
	}
}
