//go:build live

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

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
)

// A gauge that the profile defines is read each second: the largest of all series that
// match, in frames of a separate source. Seconds in which the service fails have no value.
func TestNamedGauge(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var depth atomic.Int64
	depth.Store(3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	watch(t, o, func(w *watched) {
		w.await(t, "the gauge is read", "queue_depth", is(3))
		depth.Store(7)
		w.await(t, "it is read again", "queue_depth", is(7))
		depth.Store(-1)
		w.awaitNone(t, "a service that fails has no gauge", "queue_depth")
		if got := slices.Compact(w.values("queue_depth")); !slices.Equal(got, []float64{3, 7}) {
			t.Errorf("readings %v, want only 3 and then 7", got)
		}
	})
}

// The largest value of several instances counts, and seconds in which one of them fails have
// no value, because its value could be larger.
func TestNamedGaugeOfInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var failing atomic.Bool
	instance := func(depth int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	watch(t, o, func(w *watched) {
		w.await(t, "the gauge is read", "queue_depth", is(7))
		failing.Store(true)
		w.awaitNone(t, "the largest value is not known", "queue_depth")
		if got := slices.Compact(w.values("queue_depth")); !slices.Equal(got, []float64{7}) {
			t.Errorf("readings %v, want only the largest", got)
		}
	})
}

// A gauge of an abort condition is read like one for an SLO, by the name of the condition.
func TestGaugeOfAbortCondition(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
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
	watch(t, o, func(w *watched) {
		for name, want := range map[string]float64{"waiting": 9, "of-the-service": 5} {
			polltest.Until(t, name+" is read", func() bool { return slices.Contains(w.readings(metric.AbortGauge, name), want) })
		}
	})
	o.Profile.Abort[1].Gauge.Metric = "idel"
	if err := o.Examine(t.Context(), metric.AbortGauge); err == nil || !strings.Contains(err.Error(), "gauge of-the-service: ") || !strings.Contains(err.Error(), "has no metric idel") {
		t.Errorf("%v", err)
	}
}
