package service

import (
	"context"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/metric"
)

// queryDuration is a histogram or summary of all statements, in seconds,
// without the wait for a connection.
const queryDuration = "db_query_duration_seconds"

// source is where one of our metrics comes from. Values are summed over all
// label sets: a service may have several pools. Where several families feed one
// metric the first that the endpoint has counts.
type source struct {
	family string
	part   func(*dto.Metric) (value float64, ok bool)
	name   string  // in metric's catalogue
	scale  float64 // from the endpoint's unit to ours
}

const perSecond = 1000 // ms

// sources are the names of client_golang's collectors, those of our reference
// service where there is no custom, and those of Micrometer and HikariCP
// (Spring Boot).
var sources = []source{
	{"go_sql_in_use_connections", scrape.Value, metric.ServicePoolInUse, 1},
	{"hikaricp_connections_active", scrape.Value, metric.ServicePoolInUse, 1},
	{"go_sql_open_connections", scrape.Value, metric.ServicePoolOpen, 1},
	{"hikaricp_connections", scrape.Value, metric.ServicePoolOpen, 1},
	{"go_sql_max_open_connections", scrape.Value, metric.ServicePoolMax, 1},
	{"hikaricp_connections_max", scrape.Value, metric.ServicePoolMax, 1},
	{"go_sql_wait_count_total", scrape.Value, metric.ServicePoolWaits, 1},
	{"go_sql_wait_duration_seconds_total", scrape.Value, metric.ServicePoolWaitTime, perSecond},
	{"db_connection_wait_seconds", sum, metric.ServiceAcquireTime, perSecond},
	{"hikaricp_connections_acquire_seconds", sum, metric.ServiceAcquireTime, perSecond},
	{queryDuration, count, metric.ServiceQueries, 1},
	{queryDuration, sum, metric.ServiceQueryTime, perSecond},
	{"http_request_duration_seconds", count, metric.ServiceRequests, 1},
	{"http_server_requests_seconds", count, metric.ServiceRequests, 1},
	{"http_request_duration_seconds", sum, metric.ServiceRequestTime, perSecond},
	{"http_server_requests_seconds", sum, metric.ServiceRequestTime, perSecond},
	{"gateway_duration_seconds", sum, metric.ServiceDownstreamTime, perSecond},
	{"http_client_requests_seconds", sum, metric.ServiceDownstreamTime, perSecond},
	{"process_cpu_seconds_total", scrape.Value, metric.ServiceCPU, 1},
	{"process_cpu_time_ns_total", scrape.Value, metric.ServiceCPU, 1e-9},
	{"go_sched_gomaxprocs_threads", scrape.Value, metric.ServiceCPUs, 1},
	{"system_cpu_count", scrape.Value, metric.ServiceCPUs, 1},
}

// families are what is read of an exposition.
var families = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range sources {
		all[s.family] = true
	}
	return all
}()

// ownRoutes are routes that monitoring calls, by the labels route and uri: no requests
// of the load. asides are calls that no request waits for.
var (
	ownRoutes = []string{"/metrics", "/healthz", "/actuator"}
	asides    = []string{"inquiry"} // the reference service asks a gateway again in the background
)

// counts tells whether a metric is of requests that the load makes.
func counts(m *dto.Metric) bool {
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "route", "uri":
			path := l.GetValue()[strings.LastIndexByte(l.GetValue(), ' ')+1:] // without the method
			if slices.ContainsFunc(ownRoutes, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") }) {
				return false
			}
		case "call":
			if slices.Contains(asides, l.GetValue()) {
				return false
			}
		}
	}
	return true
}

func count(m *dto.Metric) (float64, bool) {
	switch {
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount()), true
	case m.Summary != nil:
		return float64(m.GetSummary().GetSampleCount()), true
	}
	return 0, false
}

func sum(m *dto.Metric) (float64, bool) {
	switch {
	case m.Histogram != nil:
		return m.GetHistogram().GetSampleSum(), true
	case m.Summary != nil:
		return m.GetSummary().GetSampleSum(), true
	}
	return 0, false
}

// reading is what one scrape found, by the names of our metrics.
type reading map[string]float64

// scrape reads our metrics from the endpoint.
func (c *Collector) scrape(ctx context.Context) (reading, error) {
	body, err := c.endpoint.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	return parse(body)
}

// parse reads an exposition in the text format.
func parse(body []byte) (reading, error) {
	found, err := scrape.Parse(body, func(family string) bool { return families[family] })
	if err != nil {
		return nil, err
	}
	r, from := reading{}, map[string]string{}
	for _, s := range sources {
		if other, ok := from[s.name]; ok && other != s.family {
			continue
		}
		for _, m := range found[s.family].GetMetric() {
			if v, ok := s.part(m); ok && counts(m) {
				r[s.name] += v * s.scale
				from[s.name] = s.family
			}
		}
	}
	return r, nil
}

// points compares a reading with the one before it. A counter that fell was
// begun anew by a restarted service: all that it shows happened since.
func (r reading) points(before reading) (points []metric.Point) {
	done := map[string]bool{}
	for _, s := range sources {
		now, ok := r[s.name]
		if !ok || done[s.name] {
			continue
		}
		done[s.name] = true
		series := metric.Of(s.name)
		if d, _ := metric.Find(s.name); d.Kind == metric.Gauge {
			points = append(points, metric.GaugePoint(series, now))
			continue
		}
		was, ok := before[s.name]
		if !ok {
			continue
		}
		increase := now - was
		if increase < 0 {
			increase = now
		}
		points = append(points, metric.CounterPoint(series, increase))
	}
	return points
}
