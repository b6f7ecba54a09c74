package service_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay/harness/observe/collect/service"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
	"assay/harness/observe/record"
)

// collectFor runs a started collector for a while and returns its frames.
func collectFor(t *testing.T, c *service.Collector, d time.Duration) (*record.Timeline, []metric.Frame, record.Span) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var frames []metric.Frame
	line := record.NewTimeline()
	err := c.Run(ctx, func(f metric.Frame) error {
		frames = append(frames, f)
		line.Add(f)
		return nil
	})
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
	registry, query := pools(t)
	query.WithLabelValues("before").Observe(100) // before the run: not counted
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	c := service.New(server.URL + "/metrics")
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(700*time.Millisecond, func() {
		for range 10 {
			query.WithLabelValues("select").Observe(0.002)
			query.WithLabelValues("insert").Observe(0.003)
		}
	})
	line, _, span := collectFor(t, c, 2300*time.Millisecond)
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
	if !ok[len(ok)-1] || values[len(values)-1] != 30 {
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
	s := exposition(t, func(scrape int, w http.ResponseWriter) {
		counts := []int{100, 100, 110, 0, 130, 7} // the fourth scrape fails, the sixth is after a restart of the service
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
	line, frames, span := collectFor(t, c, 4*time.Second)
	if n, _ := line.Sum(metric.ServiceQueries, nil, span); n != 10+20+7 {
		t.Errorf("%v queries, want 37", n)
	}
	if len(frames[1].Points) != 0 {
		t.Errorf("the second of the failed scrape has points: %v", frames[1].Points)
	}
}

func TestAbsent(t *testing.T) {
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
			begin := time.Now()
			if err := service.New(url).Start(t.Context()); !errors.Is(err, service.ErrAbsent) {
				t.Errorf("start: %v", err)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("start took %v", took)
			}
		})
	}
}

func TestOnlyTargetHosts(t *testing.T) {
	for _, c := range []struct {
		url   string
		hosts []string
		ok    bool
	}{
		{"http://example.com/metrics", nil, false},
		{"http://example.com/metrics", []string{"example.org"}, false},
		{"ftp://127.0.0.1/metrics", nil, false},
		{"127.0.0.1:80/metrics", nil, false},
		{"http://127.0.0.1:1/metrics", nil, true},
		{"http://[::1]:1/metrics", nil, true},
		{"http://localhost:1/metrics", nil, true},
		{"http://service.invalid/metrics", []string{"service.invalid"}, true},
	} {
		err := service.New(c.url, c.hosts...).Start(t.Context())
		if tried := errors.Is(err, service.ErrAbsent); tried != c.ok {
			t.Errorf("%s, target %v: %v", c.url, c.hosts, err)
		}
	}
}
