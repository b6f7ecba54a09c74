package target

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows. The registry is the service's own, so that
// two services in one process (a test) do not meet.
type metrics struct {
	registry    *prometheus.Registry
	query       *prometheus.HistogramVec // by statement verb
	connWait    prometheus.Histogram
	requests    *prometheus.HistogramVec // by route and code
	poolsOpened prometheus.Counter
	queued      prometheus.Gauge
}

func newMetrics() *metrics {
	// 0.1 ms to 26 s: below a loopback round trip, above the usual client timeout.
	buckets := prometheus.ExponentialBuckets(0.0001, 2, 19)
	m := &metrics{
		registry: prometheus.NewRegistry(),
		query: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "db_query_duration_seconds", Buckets: buckets,
			Help: "Time inside a database statement, without the wait for a connection.",
		}, []string{"statement"}),
		connWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "db_connection_wait_seconds", Buckets: buckets,
			Help: "Time to get a connection: from the pool, queueing for it, or opening it.",
		}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Buckets: buckets,
			Help: "Time from a request's header to the end of its answer; code 499 = the client had left.",
		}, []string{"route", "code"}),
		poolsOpened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "db_pools_opened_total", Help: "Connection pools opened for a single request.",
		}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ingest_events_in_memory", Help: "Events accepted and not yet stored.",
		}),
	}
	m.registry.MustRegister(m.query, m.connWait, m.requests, m.poolsOpened, m.queued,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) watchPool(d *database) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(d.shared, "target"))
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}
