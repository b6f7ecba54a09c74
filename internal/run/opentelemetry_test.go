//go:build long

package run_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	otel "go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/dbconv"
	"go.opentelemetry.io/otel/trace/noop"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// otelsql reads its names from the environment: those of today, and those of before as well.
func init() { _ = os.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "database/dup") }

// Times of the instrumented service. Its pool has a single connection, which is in use for
// less than a quarter of the baseline and most of the hold.
const (
	statementTime  = 40 * time.Millisecond
	downstreamTime = 25 * time.Millisecond
)

// instrumented is a Go service whose only metrics are those of OpenTelemetry's libraries:
// otelhttp measures its requests and calls, otelsql its statements, and the code that is
// generated from the conventions its pool. It measures some of them by itself, too.
type instrumented struct {
	db       *sql.DB
	client   *http.Client
	calls    string // URL of the service that it calls
	waitTime dbconv.ClientConnectionWaitTime
	mu       sync.Mutex
	payments int
	waited   time.Duration // for a connection
	stated   time.Duration // in statements
	served   time.Duration
}

func newInstrumented(t *testing.T, dsn string, provider *sdk.MeterProvider) *instrumented {
	t.Helper()
	s := &instrumented{client: &http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport.(*http.Transport).Clone(), otelhttp.WithMeterProvider(provider), otelhttp.WithTracerProvider(noop.NewTracerProvider()))}}
	var err error
	s.db, err = otelsql.Open("mysql", dsn, otelsql.WithMeterProvider(provider), otelsql.WithTracerProvider(noop.NewTracerProvider()), otelsql.WithAttributes(semconv.DBSystemNameMySQL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.db.SetMaxOpenConns(1)
	meter := provider.Meter("pool")
	if s.waitTime, err = dbconv.NewClientConnectionWaitTime(meter); err != nil {
		t.Fatal(err)
	}
	count, err := dbconv.NewClientConnectionCountObservable(meter, otel.WithInt64Callback(func(_ context.Context, o otel.Int64Observer) error {
		of := func(state dbconv.ClientConnectionStateAttr) otel.ObserveOption {
			return otel.WithAttributes(semconv.DBClientConnectionPoolName("main"), attribute.String("db.client.connection.state", string(state)))
		}
		stats := s.db.Stats()
		o.Observe(int64(stats.InUse), of(dbconv.ClientConnectionStateUsed))
		o.Observe(int64(stats.Idle), of(dbconv.ClientConnectionStateIdle))
		return nil
	}))
	if err != nil || count.Name() == "" {
		t.Fatal(err)
	}
	if _, err := dbconv.NewClientConnectionMaxObservable(meter, otel.WithInt64Callback(func(_ context.Context, o otel.Int64Observer) error {
		o.Observe(int64(s.db.Stats().MaxOpenConnections), otel.WithAttributes(semconv.DBClientConnectionPoolName("main")))
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	called := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(downstreamTime) }))
	t.Cleanup(called.Close)
	t.Cleanup(s.client.CloseIdleConnections)
	s.calls = called.URL
	return s
}

func (s *instrumented) pay(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	connection, err := s.db.Conn(r.Context())
	got := time.Now()
	s.waitTime.Record(r.Context(), got.Sub(begin).Seconds(), "main")
	if err == nil {
		_, err = connection.ExecContext(r.Context(), fmt.Sprintf("DO SLEEP(%g)", statementTime.Seconds()))
		_ = connection.Close()
	}
	stated := time.Since(got)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.payments++
		s.waited += got.Sub(begin)
		s.stated += stated
		s.served += time.Since(begin)
	}()
	if err == nil {
		var request *http.Request
		if request, err = http.NewRequestWithContext(r.Context(), http.MethodGet, s.calls, nil); err == nil {
			var response *http.Response
			if response, err = s.client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// otlpExporter exports while a run listens, and says nothing otherwise.
type otlpExporter struct{ sdk.Exporter }

func (e otlpExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	_ = e.Exporter.Export(ctx, m)
	return nil
}

// A Go service that is instrumented by OpenTelemetry's libraries alone: the diagnosis
// separates the wait for its pool, its statements, its own time and that of its calls, and
// finds that the pool is too small, whether its metrics are scraped or pushed.
func TestLongServiceInstrumentedByOpenTelemetry(t *testing.T) {
	for _, pushes := range []bool{false, true} {
		t.Run(fmt.Sprintf("pushes %t", pushes), func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.3)
			server := mysqldtest.Start(t, "mysql")
			expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
				port, err := process.FreePort()
				if err != nil {
					t.Fatal(err)
				}
				mux := http.NewServeMux()
				var reader sdk.Reader
				if pushes {
					client, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL("http://"+process.Address(port)+"/v1/metrics"),
						otlpmetrichttp.WithHeaders(map[string]string{"Authorization": "Bearer " + joinToken}), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
					if err != nil {
						t.Fatal(err)
					}
					reader = sdk.NewPeriodicReader(otlpExporter{client}, sdk.WithInterval(time.Second))
				} else {
					registry := prometheus.NewRegistry()
					if reader, err = exporter.New(exporter.WithRegisterer(registry)); err != nil {
						t.Fatal(err)
					}
					mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
				}
				provider := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithResource(resource.NewSchemaless(semconv.ServiceName("shop"))))
				defer func() { _ = provider.Shutdown(context.Background()) }()
				s := newInstrumented(t, server.DSN(), provider)
				mux.HandleFunc("GET /{$}", s.pay)
				web := httptest.NewServer(otelhttp.NewHandler(mux, "shop", otelhttp.WithMeterProvider(provider), otelhttp.WithTracerProvider(noop.NewTracerProvider())))
				defer web.Close()

				p := loose(steady(20, 12*time.Second))
				p.Flows[0].Load.Even, p.Flows[0].Load.Warmup, p.Flows[0].Load.Baseline = false, 2*time.Second, spec.Baseline{Rate: 5, For: 8 * time.Second}
				p.Flows[0].SLOs[0].Expression, p.Flows[0].SLOs[0].Quantile, p.Flows[0].SLOs[0].Bound = "p(80)<95", 0.8, 95 // met at the baseline
				o := options(t, p, getScript, web.URL)
				o.DSN = server.DSN()
				o.Join = run.Join{Listen: process.Address(port), Token: joinToken}
				r := certify(t, o)
				v := verdict.Judge(r)
				if v.Outcome == verdict.Fail {
					s.check(t, r, v, pushes)
				}
				return v
			})
		})
	}
}

// check checks a run that failed.
func (s *instrumented) check(t *testing.T, r record.Run, v verdict.Verdict, pushes bool) {
	t.Helper()
	found := diagnose.Of(r, v)
	split := map[string]float64{}
	for _, c := range found.Split {
		split[c.Component] = *c.MsPerTransaction
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	// Sleeping takes at least its time. Increases are spread over the seconds of an export, of
	// which one may be in another window.
	if split[diagnose.Downstream] < 0.8*ms(downstreamTime) || split[diagnose.Pool] < 0.8*ms(statementTime) || split[diagnose.Unmeasured] > 0.5*split[diagnose.Pool] {
		t.Errorf("the time of a transaction: %v", split)
	}
	// What was read agrees with what the service measures itself. The last export of the run
	// may lack what it did after it, and so may the first.
	sum := func(name string) float64 {
		v, _ := r.Timeline.Sum(name, nil, record.All)
		return v
	}
	requests := sum(metric.ServiceRequests)
	for name, own := range map[string]time.Duration{
		metric.ServiceAcquireTime: s.waited, metric.ServiceQueryTime: s.stated, metric.ServiceRequestTime: s.served,
	} {
		if got, want := sum(name)/requests, ms(own)/float64(s.payments); math.Abs(got/want-1) > 0.25 {
			t.Errorf("%s is %.1f ms for each request, the service measured %.1f ms", name, got, want)
		}
	}
	if share := requests / float64(s.payments); share < 0.8 || share > 1 {
		t.Errorf("%g of %d requests were read", requests, s.payments)
	}
	if queries := sum(metric.ServiceQueries); math.Abs(queries/requests-1) > 0.1 {
		t.Errorf("%g statements in %g requests, each of which makes one", queries, requests)
	}
	if b := found.Bottleneck; b == nil || b.Component != diagnose.Pool && b.Component != diagnose.Undetermined || !strings.Contains(b.Sentence, " "+diagnose.Pool+", with ") {
		t.Errorf("bottleneck %+v", b)
	} else {
		t.Log(b.Component, b.Sentence, split)
	}
	if p := r.Timeline.Pushed(); p.Read != pushes {
		t.Errorf("pushed: %+v", p)
	}
	for _, text := range v.Limitations {
		if strings.HasPrefix(text, "service was not observed") {
			t.Error(text)
		}
	}
}
