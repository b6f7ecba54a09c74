package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
)

// Errors are read by class: from counters with the label class, and from HikariCP's of
// time-outs, over all pools. What was counted before the first reading is older than the
// run; a class that appears later was 0 before.
func TestErrorsByClass(t *testing.T) {
	read := func(text string) reading {
		t.Helper()
		s, err := read([]byte(text))
		r := s.reading
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := read(`# TYPE hikaricp_connections_timeout_total counter
hikaricp_connections_timeout_total{pool="a"} 4
hikaricp_connections_timeout_total{pool="b"} 1
`)
	after := read(`# TYPE hikaricp_connections_timeout_total counter
hikaricp_connections_timeout_total{pool="a"} 6
hikaricp_connections_timeout_total{pool="b"} 2
# TYPE db_errors_total counter
db_errors_total{class="deadlock"} 2
db_errors_total{class="pool timeout"} 1
db_errors_total 5
# TYPE service_errors_total counter
service_errors_total{class="deadlock"} 1
`)
	if points := before.since(nil).points(); len(points) != 0 {
		t.Errorf("the first reading counts %v", points)
	}
	got := map[string]float64{}
	for _, p := range after.since(before).points() {
		if p.Series.Name != metric.ErrorsByClass || p.Series.Label("where") != metric.AtService {
			t.Errorf("%+v", p)
		}
		got[p.Series.Label("class")] = p.Value
	}
	if diff := cmp.Diff(map[string]float64{metric.ErrorPoolTimeout: 4, metric.ErrorDeadlock: 3, metric.ErrorOther: 5}, got); diff != "" {
		t.Error(diff)
	}
}
