package target

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay.dev/assay/lab/target/gateway"
)

// metrics are those of /metrics. Each service has its own registry, so that two of them
// can run in one process (a test).
type metrics struct {
	registry    *prometheus.Registry
	query       *prometheus.HistogramVec // by statement verb
	connWait    prometheus.Histogram
	requests    *prometheus.HistogramVec // by route and code
	queue       prometheus.Histogram     // exported only with a capacity
	poolsOpened prometheus.Counter
	queued      prometheus.Gauge
	dbErrors    *prometheus.CounterVec // by class
	errors      *prometheus.CounterVec // by class

	gateway    *prometheus.HistogramVec // by call, payment mode and outcome
	charged    *prometheus.CounterVec   // by payment mode and outcome
	pending    prometheus.Gauge         // exported, like the next three, only if its worker runs
	outbox     prometheus.Gauge
	reconciled *prometheus.CounterVec // by outcome
	notified   prometheus.Counter

	redelivered prometheus.Counter // exported only with Kafka
}

func newMetrics() *metrics {
	// 0.1 ms to 26 s: below a loopback round trip, above the usual client timeout.
	buckets := prometheus.ExponentialBuckets(0.0001, 2, 19)
	seconds := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets,
			// For OTLP, an exponential histogram of 2^(1/8); /metrics has only the
			// buckets above.
			NativeHistogramBucketFactor:  1.1,
			NativeHistogramZeroThreshold: prometheus.NativeHistogramZeroThresholdZero,
		}
	}
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		query: prometheus.NewHistogramVec(seconds("db_query_duration_seconds",
			"Time inside a database statement, without the wait for a connection."), []string{"statement"}),
		connWait: prometheus.NewHistogram(seconds("db_connection_wait_seconds",
			"Time to get a connection: from the pool, queueing for it, or opening it.")),
		requests: prometheus.NewHistogramVec(seconds("http_request_duration_seconds",
			"Time from a request's header to the end of its response; code 499: the client had disconnected."), []string{"route", "code"}),
		queue: prometheus.NewHistogram(seconds("http_request_queue_seconds",
			"Time for which a request waited in the service until it had a free worker; a part of its duration.")),
		gateway: prometheus.NewHistogramVec(seconds("gateway_duration_seconds",
			"Time until a payment gateway responded or the call timed out; a call that is repeated counts each time."), []string{"call", "mode", "outcome"}),
		charged: prometheus.NewCounterVec(counter("gateway_payments_total",
			"Payments that were sent to a gateway, each once, by the outcome of the last call."), []string{"mode", "outcome"}),
		poolsOpened: prometheus.NewCounter(counter("db_pools_opened_total", "Connection pools opened for a single request.")),
		dbErrors: prometheus.NewCounterVec(counter("db_errors_total",
			"Errors of statements and of getting a connection, by class: too many connections, pool timeout, deadlock, ..."), []string{"class"}),
		errors: prometheus.NewCounterVec(counter("service_errors_total",
			"Errors of the service itself, by class: too many open files, queue full, ..."), []string{"class"}),
		queued:      gauge("ingest_events_in_memory", "Events accepted and not yet stored."),
		pending:     gauge("payments_pending", "Payments whose gateway has not responded; counted up to 10000."),
		outbox:      gauge("outbox_backlog", "Notifications written and not yet sent; counted up to 10000."),
		reconciled:  prometheus.NewCounterVec(counter("payments_reconciled_total", "Pending payments that this service confirmed or declined."), []string{"outcome"}),
		redelivered: prometheus.NewCounter(counter("ingest_redelivered_total", "Events that Kafka delivered again, and that were stored already.")),
		notified:    prometheus.NewCounter(counter("notifications_sent_total", "Notifications that this service sent.")),
	}
	m.registry.MustRegister(m.query, m.connWait, m.requests, m.poolsOpened, m.queued, m.dbErrors, m.errors, m.gateway, m.charged, buildInfo(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// buildInfo is 1; its labels describe the build.
func buildInfo() prometheus.Gauge {
	labels := prometheus.Labels{"version": "devel", "revision": "", "modified": "", "goversion": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"] = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				labels["revision"] = s.Value
			case "vcs.modified":
				labels["modified"] = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "assay_build_info", Help: "1; the labels describe the build.", ConstLabels: labels,
	})
	g.Set(1)
	return g
}

func (m *metrics) watchPool(d *database) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(d.shared, "target"))
}

// watchQueue exports the age of the oldest event that is not stored.
func (m *metrics) watchQueue(in *ingestion) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ingest_oldest_event_seconds", Help: "Age of the oldest event that was accepted and is not stored yet; 0: all are stored.",
	}, func() float64 { return in.age().Seconds() }))
}

func (m *metrics) queuedFor(d time.Duration) { m.queue.Observe(d.Seconds()) }

// watchCapacity exports how many requests the service works on at once, and how many wait.
func (m *metrics) watchCapacity(l *limiter) {
	gauge := func(name, help string, value func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	gauge("service_capacity", "Requests that the service works on at once.", func() int { n, _ := l.state(); return n })
	gauge("service_requests_waiting", "Requests that wait for a free worker of the service.", func() int { _, n := l.state(); return n })
	m.registry.MustRegister(m.queue)
}

func (m *metrics) watchStream() { m.registry.MustRegister(m.redelivered) }

// call records a call to a payment gateway.
func (m *metrics) call(c gateway.Call) {
	m.gateway.WithLabelValues(c.Kind, c.Mode, string(c.Outcome)).Observe(c.Took.Seconds())
	if c.Kind == "charge" && c.Last {
		m.charged.WithLabelValues(c.Mode, string(c.Outcome)).Inc()
	}
}

func (m *metrics) handler() http.Handler {
	// Several runs, each of which reads the metrics and the gauges, may use the service.
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8})
}
