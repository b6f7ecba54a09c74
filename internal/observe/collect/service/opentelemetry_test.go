package service

import (
	"bytes"
	"context"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	otel "go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/dbconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/httpconv"

	"assay.dev/assay/internal/observe/metric"
)

// today records what a service with a database, a store and a downstream service does, under
// the names of today, which are generated from the conventions.
func today(t *testing.T, meter otel.Meter) {
	t.Helper()
	ctx := t.Context()
	server, client := must(httpconv.NewServerRequestDuration(meter))(t), must(httpconv.NewClientRequestDuration(meter))(t)
	for route, seconds := range map[string][]float64{"/pay": {0.1, 0.3}, "/healthz": {5}} {
		for _, s := range seconds {
			server.Record(ctx, s, "GET", "http", server.AttrRoute(route))
		}
	}
	client.Record(ctx, 0.05, "GET", "downstream.test", 443)
	operation := must(dbconv.NewClientOperationDuration(meter))(t)
	for range 2 {
		operation.Record(ctx, 0.01, dbconv.SystemNameMySQL, operation.AttrOperationName("INSERT"))
	}
	operation.Record(ctx, 0.02, dbconv.SystemNameRedis, operation.AttrOperationName("GET"))
	count, limit := must(dbconv.NewClientConnectionCount(meter))(t), must(dbconv.NewClientConnectionMax(meter))(t)
	pending, timeouts := must(dbconv.NewClientConnectionPendingRequests(meter))(t), must(dbconv.NewClientConnectionTimeouts(meter))(t)
	create, wait, use := must(dbconv.NewClientConnectionCreateTime(meter))(t), must(dbconv.NewClientConnectionWaitTime(meter))(t), must(dbconv.NewClientConnectionUseTime(meter))(t)
	for _, pool := range []string{"orders", "stock"} {
		count.Add(ctx, 3, pool, dbconv.ClientConnectionStateUsed)
		count.Add(ctx, 1, pool, dbconv.ClientConnectionStateIdle)
		limit.Add(ctx, 10, pool)
		pending.Add(ctx, 2, pool)
		timeouts.Add(ctx, 1, pool)
		create.Record(ctx, 0.25, pool)
		wait.Record(ctx, 0.5, pool)
		use.Record(ctx, 0.75, pool)
	}
	limit.Add(ctx, 99, "cache", attribute.String("db.system", "redis")) // not of connections to the database
}

// before records the same under the experimental names.
func before(t *testing.T, meter otel.Meter) {
	t.Helper()
	ctx := t.Context()
	record := func(name string, ms float64, attributes ...attribute.KeyValue) {
		must(meter.Float64Histogram(name, otel.WithUnit("ms")))(t).Record(ctx, ms, otel.WithAttributes(attributes...))
	}
	level := func(name, unit string, n int64, attributes ...attribute.KeyValue) {
		must(meter.Int64UpDownCounter(name, otel.WithUnit(unit)))(t).Add(ctx, n, otel.WithAttributes(attributes...))
	}
	record("http.server.duration", 100, attribute.String("http.route", "/pay"))
	record("http.server.duration", 300, attribute.String("http.route", "/pay"))
	record("http.server.duration", 5000, attribute.String("http.route", "/healthz"))
	record("http.client.duration", 50)
	for range 2 { // otelsql's metric, which never had another name
		record("db.sql.latency", 10, attribute.String("method", "sql.conn.exec"))
	}
	for _, pool := range []string{"orders", "stock"} {
		of := attribute.String("pool.name", pool)
		level("db.client.connections.usage", "{connections}", 3, of, attribute.String("state", "used"))
		level("db.client.connections.usage", "{connections}", 1, of, attribute.String("state", "idle"))
		level("db.client.connections.max", "{connections}", 10, of)
		level("db.client.connections.pending_requests", "{requests}", 2, of)
		must(meter.Int64Counter("db.client.connections.timeouts", otel.WithUnit("{timeouts}")))(t).Add(ctx, 1, otel.WithAttributes(of))
		record("db.client.connections.create_time", 250, of)
		record("db.client.connections.wait_time", 500, of)
		record("db.client.connections.use_time", 750, of)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// exposed is what OpenTelemetry's exporter for Prometheus exposes.
func exposed(t *testing.T, registry *prometheus.Registry, format expfmt.Format) []byte {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

// What a service exposes under OpenTelemetry's names is read, however they are translated,
// and only once where it has several names for it.
func TestOpenTelemetryNames(t *testing.T) {
	want := reading{
		metric.ServiceRequests: 2, metric.ServiceRequestTime: 400, metric.ServiceDownstreamTime: 50 + 20, metric.ServiceDownstreamCalls: 1,
		metric.ServiceQueries: 2, metric.ServiceQueryTime: 20,
		metric.ServicePoolInUse: 6, metric.ServicePoolOpen: 8, metric.ServicePoolMax: 20, metric.ServicePoolPending: 4,
		metric.ServiceConnectTime: 500, metric.ServiceAcquireTime: 1000, metric.ServicePoolUseTime: 1500,
		errorPrefix + metric.ErrorPoolTimeout: 2,
	}
	withoutStore := maps.Clone(want)
	withoutStore[metric.ServiceDownstreamTime] = 50
	classic := expfmt.NewFormat(expfmt.TypeTextPlain)
	utf8 := classic.WithEscapingScheme(model.NoEscaping)
	for _, strategy := range strategies {
		for name, c := range map[string]struct {
			format expfmt.Format
			record []func(*testing.T, otel.Meter)
			own    string // exposed as well
			want   reading
		}{
			"today's names":      {classic, []func(*testing.T, otel.Meter){today}, "", want},
			"with their dots":    {utf8, []func(*testing.T, otel.Meter){today}, "", want},
			"experimental names": {classic, []func(*testing.T, otel.Meter){before}, "", withoutStore},
			"experimental, dots": {utf8, []func(*testing.T, otel.Meter){before}, "", withoutStore},
			"both":               {classic, []func(*testing.T, otel.Meter){today, before}, "", want},
			"beside the service's": {
				utf8,
				[]func(*testing.T, otel.Meter){today},
				`# TYPE go_sql_in_use_connections gauge
go_sql_in_use_connections 5
# TYPE http_request_duration_seconds summary
http_request_duration_seconds_sum{route="GET /pay"} 9
http_request_duration_seconds_count{route="GET /pay"} 7
# TYPE gateway_duration_seconds summary
gateway_duration_seconds_sum 1
gateway_duration_seconds_count 4
# TYPE hikaricp_connections_timeout_total counter
hikaricp_connections_timeout_total 3
`, with(want, reading{
					metric.ServicePoolInUse: 5, metric.ServiceRequests: 7, metric.ServiceRequestTime: 9000,
					metric.ServiceDownstreamTime: 1000 + 20, metric.ServiceDownstreamCalls: 4, errorPrefix + metric.ErrorPoolTimeout: 3,
				}),
			},
		} {
			t.Run(string(strategy)+", "+name, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				reader := must(exporter.New(exporter.WithRegisterer(registry), exporter.WithTranslationStrategy(strategy)))(t)
				provider := sdk.NewMeterProvider(sdk.WithReader(reader))
				defer func() { _ = provider.Shutdown(context.Background()) }()
				for _, record := range c.record {
					record(t, provider.Meter("shop"))
				}
				text := append(exposed(t, registry, c.format), c.own...)
				s, err := read(text)
				got := s.reading
				if err != nil {
					t.Fatal(err)
				}
				maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.HasPrefix(name, withinBound) })
				if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
					t.Errorf("(-want +got):\n%s\n%s", diff, text)
				}
			})
		}
	}
}

func with(r, other reading) reading {
	r = maps.Clone(r)
	maps.Copy(r, other)
	return r
}

// The fastest statements are found in buckets of s and of ms, and those of a store are none.
func TestFastestOfOpenTelemetry(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want float64
	}{
		"s": {`# TYPE db_client_operation_duration_seconds histogram
db_client_operation_duration_seconds_bucket{db_system_name="mysql",le="0.005"} 10
db_client_operation_duration_seconds_bucket{db_system_name="mysql",le="+Inf"} 100
db_client_operation_duration_seconds_sum{db_system_name="mysql"} 1
db_client_operation_duration_seconds_count{db_system_name="mysql"} 100
db_client_operation_duration_seconds_bucket{db_system_name="redis",le="0.001"} 1000
db_client_operation_duration_seconds_bucket{db_system_name="redis",le="+Inf"} 1000
db_client_operation_duration_seconds_sum{db_system_name="redis"} 1
db_client_operation_duration_seconds_count{db_system_name="redis"} 1000
`, 5},
		"ms": {`# TYPE db_sql_latency_milliseconds histogram
db_sql_latency_milliseconds_bucket{method="sql.conn.query",le="5"} 10
db_sql_latency_milliseconds_bucket{method="sql.conn.query",le="+Inf"} 100
db_sql_latency_milliseconds_sum{method="sql.conn.query"} 1000
db_sql_latency_milliseconds_count{method="sql.conn.query"} 100
`, 5},
	} {
		s, err := read([]byte(c.text))
		r := s.reading
		if err != nil {
			t.Fatal(err)
		}
		got := values(r.points())
		if got[metric.ServiceQueryFastest] != c.want || got[metric.ServiceQueries] != 100 || math.Abs(got[metric.ServiceQueryTime]-1000) > 1e-9 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
