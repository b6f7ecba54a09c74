package otlp

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"assay/harness/observe/collect/receiver"
	"assay/harness/observe/metric"
	"assay/harness/polltest"
)

const token = "secret"

// sink is the receiver of a run, with its token.
type sink struct {
	url    string
	down   atomic.Bool // it responds with 503
	mu     sync.Mutex
	frames []metric.Frame
}

func listen(t *testing.T) *sink {
	t.Helper()
	s := &sink{}
	r := receiver.New(receiver.Sinks{Frame: func(f metric.Frame) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.frames = append(s.frames, f)
		return nil
	}}, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	r.Routes(mux)
	guarded := receiver.Authorize(token, mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		guarded.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+token)
	return s
}

// total merges all frames: the sums of counters, the counts of histograms, and the last
// values of gauges.
func (s *sink) total() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]float64{}
	for _, f := range s.frames {
		for _, p := range f.Points {
			key := p.Series.Key()
			switch p.Kind {
			case metric.Counter:
				all[key] += p.Value
			case metric.Histogram:
				all[key] += float64(p.Hist.Count())
			default:
				all[key] = p.Value
			}
		}
	}
	return all
}

func (s *sink) hist(name string) *metric.Hist {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &metric.Hist{}
	for _, f := range s.frames {
		for _, p := range f.Points {
			if p.Series.Name == name {
				h.Merge(p.Hist)
			}
		}
	}
	return h
}

func (s *sink) pushes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.frames)
}

// The received increases add up to the registry's totals, even if some pushes fail.
func TestAddsUp(t *testing.T) {
	s := listen(t)
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
	stop, err := Start(t.Context(), s.url+"/", registry, func(error) { failures.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "two pushes", func() bool { return s.pushes() >= 2 })
	observe(0, 0.001, 40) // buckets on both sides of those before
	s.down.Store(true)
	polltest.Until(t, "two pushes fail", func() bool { return failures.Load() >= 2 })
	observe(0.02, 0.5)
	s.down.Store(false)
	before := s.pushes()
	polltest.Until(t, "a push arrives again", func() bool { return s.pushes() > before })
	observe(0.25)
	if err := stop(t.Context()); err != nil { // the last push
		t.Fatal(err)
	}
	got := s.total()
	maps.DeleteFunc(got, func(key string, _ float64) bool { return strings.HasPrefix(key, "go_") })
	want := map[string]float64{"things_total{kind:a}": 8, "things_total{kind:b}": 20, "took_seconds{route:/pay}": 8, "level": 0.25, "idle_seconds": 0}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	h := s.hist("took_seconds")
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
	for _, f := range s.frames {
		if f.Source != "otlp/assay-target" {
			t.Fatalf("source %q", f.Source)
		}
	}
}

// Without a base URL the receiver is that of the environment. A wrong token is reported,
// without the token itself.
func TestEnvironment(t *testing.T) {
	if Named("") {
		t.Fatal("a receiver is configured")
	}
	s := listen(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.url)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20hunter2")
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
		limit, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := stop(limit); err != nil {
			t.Error(err)
		}
	}
	push()
	if err := <-failed; !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("refused with %v", err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+token)
	push()
	if s.pushes() != 1 || s.frames[0].Source != "otlp/shop" || len(failed) > 0 {
		t.Errorf("%d pushes: %+v", s.pushes(), s.frames)
	}
}

func TestCheckURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:4318":       "",
		"https://collector.test/otlp": "",
		"":                            "want a URL",
		"127.0.0.1:4318":              "want a URL",
		"localhost:4318":              "want a URL",
		"http://":                     "want a URL",
		"grpc://127.0.0.1:4317":       "want a URL",
		"http://u:hunter2@127.0.0.1":  "OTEL_EXPORTER_OTLP_HEADERS",
		"http://u:hunter2@%zz":        "want a URL",
	} {
		err := CheckURL(url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the password is shown: %v", url, err)
		}
	}
}
