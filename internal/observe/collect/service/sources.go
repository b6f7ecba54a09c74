package service

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/semconv"
)

// queryDuration is a histogram or summary of the durations of all statements, in seconds,
// without the wait for a connection.
const queryDuration = "db_query_duration_seconds"

// source is a metric family from which a metric of the catalogue is read. Values are summed
// over all label sets, because a service may have several pools. If several families are
// sources of one metric, the first that the endpoint has is used: a service that exposes a
// metric under two names is not counted twice.
type source struct {
	family string
	value  func(*dto.Metric) (value float64, ok bool)
	name   string  // in a reading: that of the metric catalogue, or errorPrefix and a class
	scale  float64 // from the endpoint's unit to the catalogue's
}

// errorSource is a counter of errors: by the label class, or all of one class.
type errorSource struct {
	family string
	class  string // empty: the label class has it
}

// errorSources are the counters of errors that are read as errors_by_class. The first
// two are conventions of our own, for which the OpenTelemetry and Prometheus projects
// have none; the third is HikariCP's.
var errorSources = []errorSource{
	{family: "db_errors_total"},
	{family: "service_errors_total"},
	{"hikaricp_connections_timeout_total", metric.ErrorPoolTimeout},
}

// maxClasses and maxClassBytes bound the classes of errors that are read, because a
// service may put anything into a label.
const (
	maxClasses    = 50
	maxClassBytes = 60
)

const msPerSecond = 1000

// sources are the metrics of client_golang's collectors, of Micrometer and HikariCP (Spring
// Boot) and, if there is no convention, of the reference service.
var sources = []source{
	{"go_sql_in_use_connections", scrape.Value, metric.ServicePoolInUse, 1},
	{"hikaricp_connections_active", scrape.Value, metric.ServicePoolInUse, 1},
	{"go_sql_open_connections", scrape.Value, metric.ServicePoolOpen, 1},
	{"hikaricp_connections", scrape.Value, metric.ServicePoolOpen, 1},
	{"go_sql_max_open_connections", scrape.Value, metric.ServicePoolMax, 1},
	{"hikaricp_connections_max", scrape.Value, metric.ServicePoolMax, 1},
	{"go_sql_wait_count_total", scrape.Value, metric.ServicePoolWaits, 1},
	{"go_sql_wait_duration_seconds_total", scrape.Value, metric.ServicePoolWaitTime, msPerSecond},
	{"db_connection_wait_seconds", sum, metric.ServiceAcquireTime, msPerSecond},
	{"hikaricp_connections_acquire_seconds", sum, metric.ServiceAcquireTime, msPerSecond},
	{queryDuration, count, metric.ServiceQueries, 1},
	{queryDuration, sum, metric.ServiceQueryTime, msPerSecond},
	{"http_request_duration_seconds", count, metric.ServiceRequests, 1},
	{"http_server_requests_seconds", count, metric.ServiceRequests, 1},
	{"http_request_duration_seconds", sum, metric.ServiceRequestTime, msPerSecond},
	{"http_server_requests_seconds", sum, metric.ServiceRequestTime, msPerSecond},
	{"gateway_duration_seconds", sum, metric.ServiceDownstreamTime, msPerSecond},
	{"http_client_requests_seconds", sum, metric.ServiceDownstreamTime, msPerSecond},
	{"http_request_queue_seconds", sum, metric.ServiceQueueTime, msPerSecond},
	{"service_requests_waiting", scrape.Value, metric.ServiceWaiting, 1},
	{"service_capacity", scrape.Value, metric.ServiceCapacity, 1},
	{"gateway_duration_seconds", count, metric.ServiceDownstreamCalls, 1},
	{"http_client_requests_seconds", count, metric.ServiceDownstreamCalls, 1},
	{"process_cpu_seconds_total", scrape.Value, metric.ServiceCPU, 1},
	{"process_cpu_time_ns_total", scrape.Value, metric.ServiceCPU, 1e-9},
	{"go_sched_gomaxprocs_threads", scrape.Value, metric.ServiceCPUs, 1},
	{"system_cpu_count", scrape.Value, metric.ServiceCPUs, 1},
}

// families holds the names of the families of all sources, and names the metrics that are
// read, in the order of the points in a frame.
var families, names = func() (families map[string]bool, names []string) {
	families = map[string]bool{}
	for _, s := range errorSources {
		families[s.family] = true
	}
	all := slices.Clone(sources)
	for _, s := range otelSources {
		all = append(all, s.source)
	}
	for _, s := range all {
		families[s.family], names = true, append(names, s.name)
	}
	return families, names
}()

// backgroundCalls are values of the label call for downstream calls for which no request
// waits, such as the background inquiries of the reference service.
var backgroundCalls = []string{"inquiry"}

// isLoad reports whether a metric's labels are those of requests of the load.
func isLoad(m *dto.Metric) bool {
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "route", "uri":
			if semconv.IsMonitoring(l.GetValue()) {
				return false
			}
		case "call":
			if slices.Contains(backgroundCalls, l.GetValue()) {
				return false
			}
		}
	}
	return true
}

func count(m *dto.Metric) (float64, bool) {
	switch {
	case m.Histogram != nil:
		h := m.GetHistogram()
		return h.GetSampleCountFloat() + float64(h.GetSampleCount()), true // one of them: a count need not be whole
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

// reading holds the values of one scrape, or sums of several, by metric of the catalogue;
// errors by errorPrefix and their class.
type reading map[string]float64

// errorPrefix precedes the class of errors in a reading.
const errorPrefix = metric.ErrorsByClass + " "

func read(body []byte) (s scraped, err error) {
	defer foreign.Guard(&err)
	found, err := scrape.Parse(body, func(family string) bool { return families[family] || strings.HasSuffix(family, buildSuffix) })
	if err != nil {
		return s, err
	}
	return scraped{reading: readingOf(found), builds: buildsIn(found)}, nil
}

func readingOf(found scrape.Families) reading {
	r, from, unknown := reading{}, map[string]string{}, map[string]bool{}
	read := func(s source, key string, bounds float64) {
		if other, ok := from[key]; ok && other != s.family {
			return
		}
		for _, m := range found[s.family].GetMetric() {
			v, ok := s.value(m)
			if !ok || !isLoad(m) {
				continue
			}
			from[key] = s.family
			if !scrape.Plausible(v) {
				unknown[s.name] = true // a sum without this series would be too low
				continue
			}
			r[s.name] += v * s.scale
			if s.name == metric.ServiceQueries {
				r.countWithin(m, bounds)
			}
		}
	}
	for _, s := range sources {
		read(s, s.name, msPerSecond)
	}
	r.addErrors(found)
	for name := range r {
		if strings.HasPrefix(name, errorPrefix) {
			from[name] = name
		}
	}
	for _, s := range otelSources {
		read(s.source, s.name+s.beside, s.bounds)
	}
	for name := range unknown {
		delete(r, name)
	}
	return r
}

func (r reading) addErrors(found scrape.Families) {
	classes := 0
	for _, s := range errorSources {
		for _, m := range found[s.family].GetMetric() {
			v, ok := scrape.Value(m)
			if !ok || !scrape.Plausible(v) || !isLoad(m) {
				continue
			}
			class := s.class
			for _, l := range m.GetLabel() {
				if class == "" && l.GetName() == "class" {
					class = mask.Cut(l.GetValue(), maxClassBytes)
				}
			}
			_, known := r[errorPrefix+class]
			if !known && classes >= maxClasses || class == "" {
				class = metric.ErrorOther
			} else if !known {
				classes++
			}
			r[errorPrefix+class] += v
		}
	}
}

// strategies are the ways in which OpenTelemetry's names become Prometheus': usually
// http_server_request_duration_seconds; since Prometheus 3 also with the dots, without the
// unit, or both.
var strategies = []otlptranslator.TranslationStrategyOption{
	otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoUTF8EscapingWithSuffixes,
	otlptranslator.UnderscoreEscapingWithoutSuffixes, otlptranslator.NoTranslation,
}

// otelSource is a source under a name of OpenTelemetry.
type otelSource struct {
	source
	beside string  // it is added to the other sources of its metric; empty: it is one of them
	bounds float64 // from the unit of a histogram's bounds to ms
}

// otelSources are the metrics of OpenTelemetry's semantic conventions, by all names under
// which an exporter for Prometheus exposes them. They are used after all other sources.
var otelSources = func() (all []otelSource) {
	for _, m := range semconv.Metrics {
		s := otelSource{source: source{name: m.As.Name, value: valueOf(m)}}
		if m.As.Name == metric.ErrorsByClass {
			s.name = errorPrefix + m.As.Label("class")
		}
		if m.Beside {
			s.beside = m.Name
		}
		s.scale, _ = m.Factor("")
		s.bounds, _ = semconv.Milliseconds(m.Unit)
		families := map[string]bool{} // most strategies agree on a metric without a unit
		for _, strategy := range strategies {
			if s.family = familyOf(m, strategy); !families[s.family] {
				families[s.family] = true
				all = append(all, s)
			}
		}
	}
	return all
}()

// familyOf is the name of a metric in an exposition.
func familyOf(m semconv.Metric, strategy otlptranslator.TranslationStrategyOption) string {
	var kind otlptranslator.MetricType = otlptranslator.MetricTypeHistogram
	if d, _ := metric.Find(m.As.Name); m.Part == semconv.Value {
		kind = otlptranslator.MetricTypeMonotonicCounter
		if d.Kind == metric.Gauge {
			kind = otlptranslator.MetricTypeGauge
		}
	}
	namer := otlptranslator.NewMetricNamer("", strategy)
	family, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
	if err != nil {
		panic(err) // a name in the list is empty
	}
	return family
}

// valueOf reads a point of a metric; false: it does not count.
func valueOf(m semconv.Metric) func(*dto.Metric) (float64, bool) {
	read := map[semconv.Part]func(*dto.Metric) (float64, bool){semconv.Value: scrape.Value, semconv.Count: count, semconv.Sum: sum}[m.Part]
	return func(p *dto.Metric) (float64, bool) {
		if m.Of != nil && !m.Of(func(name string) string { return label(p, name) }) {
			return 0, false
		}
		return read(p)
	}
}

// label is the value of an OpenTelemetry attribute, whose name is exposed with or
// without its dots; empty: there is none.
func label(m *dto.Metric, name string) (value string) {
	escaped := strings.ReplaceAll(name, ".", "_")
	for _, l := range m.GetLabel() {
		if l.GetName() == name || l.GetName() == escaped {
			value = cmp.Or(value, l.GetValue())
		}
	}
	return value
}
