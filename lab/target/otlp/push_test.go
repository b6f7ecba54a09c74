//go:build live

package otlp

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/target/otlp/otlptest"
)

// histogram merges the histograms of a metric.
func histogram(frames []metric.Frame, name string) *metric.Hist {
	h := &metric.Hist{}
	for _, f := range frames {
		for _, p := range f.Points {
			if p.Series.Name == name {
				h.Merge(p.Hist)
			}
		}
	}
	return h
}

// The received increases add up to the registry's totals, even if some pushes fail.
func TestAddsUp(t *testing.T) {
	budget.CPUs(t, 0.05)
	s := otlptest.Start(t)
	registry := prometheus.NewRegistry()
	count := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "things_total"}, []string{"kind"})
	level := prometheus.NewGauge(prometheus.GaugeOpts{Name: "level"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "took_seconds", NativeHistogramBucketFactor: 1.1,
		NativeHistogramZeroThreshold: prometheus.NativeHistogramZeroThresholdZero,
	}, []string{"route"})
	idle := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "idle_seconds", NativeHistogramBucketFactor: 1.1,
		NativeHistogramZeroThreshold: prometheus.NativeHistogramZeroThresholdZero,
	})
	registry.MustRegister(count, level, took, idle, collectors.NewGoCollector())
	observe := func(values ...float64) {
		for _, v := range values {
			count.WithLabelValues("a").Inc()
			count.WithLabelValues("b").Add(2.5)
			took.WithLabelValues("/pay").Observe(v)
			level.Set(v)
		}
	}
	var failures atomic.Int64
	observe(0.02, 0.03) // before the first push
	stop, err := Start(t.Context(), s.URL+"/", registry, func(error) { failures.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "two pushes", func() bool { return len(s.Frames()) >= 2 })
	observe(0, 0.001, 40) // buckets on both sides of those before
	s.Down.Store(true)
	polltest.Until(t, "two pushes fail", func() bool { return failures.Load() >= 2 })
	observe(0.02, 0.5)
	s.Down.Store(false)
	before := len(s.Frames())
	polltest.Until(t, "a push arrives again", func() bool { return len(s.Frames()) > before })
	observe(0.25)
	if err := stop(t.Context()); err != nil { // the last push
		t.Fatal(err)
	}
	got := s.Total()
	maps.DeleteFunc(got, func(key string, _ float64) bool { return strings.HasPrefix(key, "go_") })
	want := map[string]float64{"things_total{kind:a}": 8, "things_total{kind:b}": 20, "took_seconds{route:/pay}": 8, "level": 0.25, "idle_seconds": 0}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	h := histogram(s.Frames(), "took_seconds")
	if sum := h.Sum(); sum < 40.820 || sum > 40.822 {
		t.Errorf("durations add up to %v, want 40.821", sum)
	}
	for _, tc := range []struct {
		limit float64
		want  uint64
	}{{0.0005, 7}, {0.01, 6}, {0.1, 3}, {30, 1}, {50, 0}} {
		if lo, hi := h.AtLeast(tc.limit); lo != tc.want || hi != tc.want {
			t.Errorf("%d to %d lasted %v s, want %d", lo, hi, tc.limit, tc.want)
		}
	}
	for _, f := range s.Frames() {
		if f.Source != "otlp/assay-target" {
			t.Fatalf("source %q", f.Source)
		}
	}
}

// A push that has been received when stop is called, but not answered, is not made again.
func TestStopDuringPush(t *testing.T) {
	budget.CPUs(t, 0.05)
	s := otlptest.Start(t)
	received := make(chan struct{})
	var first sync.Once
	s.Answers = func(req *http.Request) {
		first.Do(func() {
			close(received)
			select {
			case <-req.Context().Done(): // the push is cut off
			case <-time.After(500 * time.Millisecond):
			}
		})
	}
	registry := prometheus.NewRegistry()
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total"})
	registry.MustRegister(count)
	count.Add(3)
	stop, err := Start(t.Context(), s.URL, registry, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	<-received
	count.Inc()
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Total()["things_total"]; got != 4 {
		t.Errorf("%v things were counted, want 4", got)
	}
}

// Without a base URL the receiver is that of the environment. A wrong token is reported,
// without the token itself.
func TestEnvironment(t *testing.T) {
	budget.CPUs(t, 0.1)
	if Named("") {
		t.Fatal("a receiver is configured")
	}
	s := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20wrong-token")
	t.Setenv("OTEL_SERVICE_NAME", "shop")
	if !Named("") {
		t.Fatal("no receiver is configured")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total"}))
	failed := make(chan error, 10)
	push := func() {
		stop, err := Start(t.Context(), "", registry, func(err error) { failed <- err })
		if err != nil {
			t.Fatal(err)
		}
		limit, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := stop(limit); err != nil {
			t.Error(err)
		}
	}
	push()
	if err := <-failed; !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "wrong-token") {
		t.Errorf("refused with %v", err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+otlptest.Token)
	push()
	if all := s.Frames(); len(all) != 1 || all[0].Source != "otlp/shop" || len(failed) > 0 {
		t.Errorf("%d pushes: %+v", len(all), all)
	}
}
