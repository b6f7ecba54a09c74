package gauge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/observe/collect/gauge"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// A gauge that the profile defines is read each second: the largest of all series that
// match, in frames of a separate source. Seconds in which the service fails have no value.
func TestNamedGauge(t *testing.T) {
	t.Parallel()
	var depth, scrapes atomic.Int64
	depth.Store(3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scrapes.Add(1)
		n := depth.Load()
		if n < 0 {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE jobs gauge\njobs{queue=\"a\",shard=\"0\"} %d\njobs{queue=\"a\",shard=\"1\"} 1\njobs{queue=\"b\"} 99\n", n)
	}))
	defer server.Close()
	o := gauge.Options{
		Profile: spec.Profile{Gauges: map[string]spec.Gauge{"queue_depth": {Metric: `jobs{queue="a"}`}}},
		Service: server.URL + "/metrics",
	}
	if err := o.Examine(t.Context(), "queue_depth"); err != nil {
		t.Fatal(err)
	}
	all := gauge.New(o)
	if len(all) != 1 || all[0].Source() != metric.SourceGauges {
		t.Fatalf("%d collectors", len(all))
	}
	var until int64
	line := watch(t, o, func() {
		for _, n := range []int64{3, 7, -1} {
			depth.Store(n)
			awaitScrapes(t, &scrapes)
		}
		time.Sleep(2 * time.Second) // a frame may be late
		until = time.Now().Unix()
	})
	from := line.Seconds()[0]
	values, ok := line.Gauge("queue_depth", nil, metric.SourceGauges, record.Span{From: from, To: until})
	first, last := slices.Index(ok, true), len(ok)-1
	if first < 0 || values[first] != 3 || !slices.Contains(values, 7) || ok[last] {
		t.Errorf("readings %v, %v: want 3 first, then 7, then none", values, ok)
	}
}

// Of several instances the largest value counts, and seconds in which one of them fails have
// no value, because its value could be larger.
func TestNamedGaugeOfInstances(t *testing.T) {
	t.Parallel()
	var scrapes atomic.Int64
	var failing atomic.Bool
	instance := func(depth int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			scrapes.Add(1)
			if depth == 7 && failing.Load() {
				http.Error(w, "overloaded", http.StatusServiceUnavailable)
				return
			}
			_, _ = fmt.Fprintf(w, "jobs %d\n", depth)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	urls := []string{instance(3), instance(7), instance(5)}
	o := gauge.Options{
		Profile:   spec.Profile{Gauges: map[string]spec.Gauge{"queue_depth": {Metric: "jobs"}}},
		Instances: func(context.Context) ([]string, error) { return urls, nil },
	}
	if got := fmt.Sprint(o.Metrics()); got != "[queue_depth]" {
		t.Errorf("metrics %s", got)
	}
	if err := o.Examine(t.Context(), "queue_depth"); err != nil {
		t.Fatal(err)
	}
	var until int64
	line := watch(t, o, func() {
		awaitScrapes(t, &scrapes)
		failing.Store(true)
		awaitScrapes(t, &scrapes)
		time.Sleep(2 * time.Second) // a frame may be late
		until = time.Now().Unix()
	})
	values, ok := line.Gauge("queue_depth", nil, metric.SourceGauges, record.Span{From: line.Seconds()[0], To: until})
	if !slices.Contains(ok, true) || ok[len(ok)-1] {
		t.Errorf("readings %v, %v: want values first, then none", values, ok)
	}
	for i, v := range values {
		if ok[i] && v != 7 {
			t.Errorf("second %d: %v, want the largest", i, v)
		}
	}
}

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

// A gauge of an abort condition is read like one for an SLO, by the name of the condition.
func TestGaugeOfAbortCondition(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "pending{pool=\"a\"} 3\npending{pool=\"b\"} 9\nidle 5")
	}))
	defer server.Close()
	o := gauge.Options{Profile: spec.Profile{Abort: []spec.Abort{
		{Metric: "waiting", Gauge: &spec.Gauge{Metric: "pending", URL: server.URL}},
		{Metric: "of-the-service", Gauge: &spec.Gauge{Metric: "idle"}},
		{Metric: "db_sessions"},
	}}}
	if err := o.Examine(t.Context(), metric.AbortGauge); err != nil {
		t.Errorf("without a service: %v", err)
	}
	o.Service = server.URL
	if got := fmt.Sprint(o.Metrics()); got != "[abort_gauge]" {
		t.Errorf("metrics %s", got)
	}
	line := watch(t, o, func() { time.Sleep(2 * time.Second) })
	for name, want := range map[string]float64{"waiting": 9, "of-the-service": 5} {
		labels := []metric.Label{{Key: metric.LabelCondition, Value: name}}
		values, ok := line.Gauge(metric.AbortGauge, labels, metric.SourceGauges, record.Span{From: line.Seconds()[0], To: line.Seconds()[0] + 3})
		if first := slices.Index(ok, true); first < 0 || values[first] != want {
			t.Errorf("%s: %v, %v, want %g", name, values, ok, want)
		}
	}
	o.Profile.Abort[1].Gauge.Metric = "idel"
	if err := o.Examine(t.Context(), metric.AbortGauge); err == nil || !strings.Contains(err.Error(), "gauge of-the-service: ") || !strings.Contains(err.Error(), "has no metric idel") {
		t.Errorf("%v", err)
	}
}
