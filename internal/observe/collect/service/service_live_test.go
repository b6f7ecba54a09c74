//go:build live

package service_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// collectWhile runs a started collector while during does, which is told how many frames
// there are, and returns them.
func collectWhile(t *testing.T, c *service.Collector, during func(frames func() int)) (*record.Timeline, []metric.Frame, record.Span) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		frames []metric.Frame
		sent   atomic.Int64
		ended  = make(chan struct{})
	)
	line := record.NewTimeline()
	go func() {
		defer close(ended)
		defer cancel() // also if it fails
		during(func() int { return int(sent.Load()) })
	}()
	err := c.Run(ctx, func(f metric.Frame) error {
		frames = append(frames, f)
		line.Add(f)
		sent.Add(1)
		return nil
	})
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	metrictest.Check(t, frames...)
	metrictest.CheckStream(t, metric.SourceService, frames)
	return line, frames, record.Span{From: frames[0].Second, To: frames[len(frames)-1].Second + 1}
}

// pools returns the registry of a Go service with two pools.
func pools(t *testing.T) (*prometheus.Registry, *prometheus.HistogramVec) {
	t.Helper()
	registry := prometheus.NewRegistry()
	for i, name := range []string{"orders", "stock"} {
		db, err := sql.Open("mysql", "nobody@tcp(127.0.0.1:1)/")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		db.SetMaxOpenConns(10 * (i + 1))
		registry.MustRegister(collectors.NewDBStatsCollector(db, name))
	}
	query := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "db_query_duration_seconds"}, []string{"statement"})
	registry.MustRegister(query, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry, query
}

func TestScrape(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	registry, query := pools(t)
	query.WithLabelValues("before").Observe(100) // before the run: not counted
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	c := service.New(server.URL + "/metrics")
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, _, span := collectWhile(t, c, func(frames func() int) {
		polltest.Until(t, "the run has its base", func() bool { return frames() > 0 })
		for range 10 {
			query.WithLabelValues("select").Observe(0.002)
			query.WithLabelValues("insert").Observe(0.003)
		}
	})
	if n, _ := line.Sum(metric.ServiceQueries, nil, span); n != 20 {
		t.Errorf("%v queries, want 20", n)
	}
	if ms, _ := line.Sum(metric.ServiceQueryTime, nil, span); ms < 49.999 || ms > 50.001 {
		t.Errorf("%v ms in queries, want 50", ms)
	}
	for _, name := range []string{metric.ServicePoolWaits, metric.ServicePoolWaitTime} {
		if n, found := line.Sum(name, nil, span); !found || n != 0 {
			t.Errorf("%s is %v, %v", name, n, found)
		}
	}
	values, ok := line.Gauge(metric.ServicePoolMax, nil, "service", span)
	if !slices.Contains(ok, true) || slices.Max(values) != 30 {
		t.Errorf("%s: %v, want 30 over both pools", metric.ServicePoolMax, values)
	}
}

// exposition starts an endpoint whose response depends on the number of the scrape.
func exposition(t *testing.T, respond func(scrape int, w http.ResponseWriter)) *httptest.Server {
	t.Helper()
	scrape := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scrape++
		respond(scrape, w)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestSummaryRestartAndOutage(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var scrapes atomic.Int64
	s := exposition(t, func(scrape int, w http.ResponseWriter) {
		// The fourth scrape fails, and the seventh is after a restart of the service. One of the
		// counts before the restart is read even if a scrape times out.
		counts := []int{100, 100, 110, 0, 130, 130, 7}
		defer scrapes.Store(int64(scrape))
		n := counts[min(scrape, len(counts))-1]
		if n == 0 {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE db_query_duration_seconds summary\ndb_query_duration_seconds{quantile=\"0.5\"} 0.1\n"+
			"db_query_duration_seconds_sum{a=\"x\"} %g\ndb_query_duration_seconds_count{a=\"x\"} %d\nunrelated{ 1\n", float64(n)/10, n)
	})
	c := service.New(s.URL)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, frames, span := collectWhile(t, c, func(func() int) {
		polltest.Until(t, "the restarted service is read", func() bool { return scrapes.Load() >= 8 })
	})
	if n, _ := line.Sum(metric.ServiceQueries, nil, span); n != 10+20+7 {
		t.Errorf("%v queries, want 37", n)
	}
	if !slices.ContainsFunc(frames, func(f metric.Frame) bool { return len(f.Points) == 0 }) {
		t.Error("the second of the failed scrape has points")
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	refused := httptest.NewServer(nil)
	refused.Close()
	for name, url := range map[string]string{
		"no server":  refused.URL,
		"not found":  exposition(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }).URL,
		"no metrics": exposition(t, func(_ int, w http.ResponseWriter) { _, _ = fmt.Fprintln(w, "up 1") }).URL,
		"a web page": exposition(t, func(_ int, w http.ResponseWriter) { _, _ = fmt.Fprintln(w, "<html>go_sql_</html>") }).URL,
		"too much": exposition(t, func(_ int, w http.ResponseWriter) {
			for range 50 {
				_, _ = fmt.Fprintln(w, "# "+strings.Repeat("x", 100<<10))
			}
		}).URL,
		"too slow": exposition(t, func(int, http.ResponseWriter) { time.Sleep(2 * time.Second) }).URL,
		"redirect": exposition(t, func(_ int, w http.ResponseWriter) {
			w.Header().Set("Location", "http://example.invalid/metrics")
			w.WriteHeader(http.StatusFound)
		}).URL,
	} {
		t.Run(name, func(t *testing.T) {
			if err := service.New(url).Start(t.Context()); !errors.Is(err, service.ErrAbsent) {
				t.Errorf("start: %v", err)
			}
		})
	}
}
