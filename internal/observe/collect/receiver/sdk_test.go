//go:build live

package receiver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otel "go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// instance is one instance of a service with OpenTelemetry's SDK.
type instance struct {
	provider *sdk.MeterProvider
	took     otel.Float64Histogram
	served   otel.Int64Counter
	open     otel.Int64UpDownCounter
	level    otel.Float64Gauge
}

// sdkForm is how an SDK is configured.
type sdkForm struct {
	temporality metricdata.Temporality
	aggregation sdk.Aggregation // aggregation of histograms
}

func startInstance(t *testing.T, url, id string, form sdkForm, interval time.Duration) *instance {
	t.Helper()
	client, err := otlpmetrichttp.New(
		t.Context(), otlpmetrichttp.WithEndpointURL(url+"/v1/metrics"), otlpmetrichttp.WithHeaders(map[string]string{"Authorization": "Bearer " + token}),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}),
		otlpmetrichttp.WithTemporalitySelector(func(kind sdk.InstrumentKind) metricdata.Temporality {
			if kind == sdk.InstrumentKindUpDownCounter { // as all SDKs do
				return metricdata.CumulativeTemporality
			}
			return form.temporality
		}),
		otlpmetrichttp.WithAggregationSelector(func(kind sdk.InstrumentKind) sdk.Aggregation {
			if kind == sdk.InstrumentKindHistogram {
				return form.aggregation
			}
			return sdk.DefaultAggregationSelector(kind)
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", "checkout")}
	if id != "" {
		attributes = append(attributes, attribute.String("service.instance.id", id))
	}
	i := &instance{provider: sdk.NewMeterProvider(
		sdk.WithResource(resource.NewSchemaless(attributes...)),
		sdk.WithReader(sdk.NewPeriodicReader(client, sdk.WithInterval(interval))),
	)}
	t.Cleanup(func() { _ = i.provider.Shutdown(context.Background()) }) // where the test has failed before it
	meter := i.provider.Meter("checkout")
	errs := make([]error, 4)
	i.took, errs[0] = meter.Float64Histogram("http_req_duration", otel.WithUnit("ms"))
	i.served, errs[1] = meter.Int64Counter("served", otel.WithUnit("{request}"))
	i.open, errs[2] = meter.Int64UpDownCounter("open")
	i.level, errs[3] = meter.Float64Gauge("level")
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// timeline is what a receiver recorded: the frames after a round trip through the record's
// format.
func timeline(t *testing.T, frames []metric.Frame) *record.Timeline {
	t.Helper()
	line := record.NewTimeline()
	for _, f := range frames {
		data, err := metric.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := metric.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		line.Add(decoded[0])
	}
	return line
}

// sumOf adds up a counter of foreign senders.
func sumOf(line *record.Timeline, name string, labels ...string) (total float64) {
	for _, p := range line.Foreign(name, metric.NewSeries("", "", labels...).Labels, record.All) {
		if p.Kind == metric.Counter {
			total += p.Value
		}
	}
	return total
}

func histOf(line *record.Timeline, name string, labels ...string) *metric.Hist {
	h := &metric.Hist{}
	for _, p := range line.Foreign(name, metric.NewSeries("", "", labels...).Labels, record.All) {
		p.Merge(h)
	}
	return h
}

// Several instances of a service with OpenTelemetry's SDK, in every form that it has: all
// they counted is recorded once, and their levels apart.
func TestServicesWithTheSDK(t *testing.T) {
	t.Parallel()
	exponential := sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	explicit := sdk.DefaultAggregationSelector(sdk.InstrumentKindHistogram)
	for name, form := range map[string]sdkForm{
		"delta, explicit":              {metricdata.DeltaTemporality, explicit},
		"delta, exponential":           {metricdata.DeltaTemporality, exponential},
		"cumulative, explicit":         {metricdata.CumulativeTemporality, explicit},
		"cumulative, exponential":      {metricdata.CumulativeTemporality, exponential},
		"cumulative, without extremes": {metricdata.CumulativeTemporality, sdk.AggregationExplicitBucketHistogram{Boundaries: []float64{100, 250}, NoMinMax: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.15)
			_, url, received := listen(t)
			var mu sync.Mutex
			all := map[string][]float64{} // by label
			served := int64(0)
			var instances sync.WaitGroup
			for n := range 2 {
				i := startInstance(t, url, fmt.Sprint("id-", n), form, 50*time.Millisecond)
				instances.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(n)))
					for step := range 300 {
						v := math.Exp(3 + 2*random.NormFloat64())
						if step%10 == 0 {
							v = []float64{0, 5, 100, 250}[step/10%4] // at buckets' bounds
						}
						label := []string{"pay", "refund"}[min(step/200, 1)] // the second appears late
						i.took.Record(t.Context(), v, otel.WithAttributes(attribute.String("name", label)))
						i.served.Add(t.Context(), int64(step))
						i.open.Add(t.Context(), int64(1-step%3)) // 1, 0, -1
						i.level.Record(t.Context(), float64(1000*n+step))
						mu.Lock()
						all[label] = append(all[label], v)
						served += int64(step)
						mu.Unlock()
						time.Sleep(time.Millisecond)
					}
					i.open.Add(t.Context(), int64(5+n))
					// Shutdown alone would interrupt an export under way.
					if err := errors.Join(i.provider.ForceFlush(t.Context()), i.provider.Shutdown(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
			instances.Wait()
			line := timeline(t, received.frames)
			for label, values := range all {
				metrictest.CheckHist(t, histOf(line, "http_req_duration", "name", label), values)
			}
			if got := sumOf(line, "served"); got != float64(served) {
				t.Errorf("served %g, want %d", got, served)
			}
			for n := range 2 {
				for name, want := range map[string]float64{"open": float64(5 + n), "level": float64(1000*n + 299)} {
					points := line.Foreign(name, metric.NewSeries("", "", "service.instance.id", fmt.Sprint("id-", n)).Labels, record.All)
					if len(points) == 0 || points[len(points)-1].Value != want || points[0].Kind != metric.Gauge {
						t.Errorf("%s of instance %d: %+v, want %g last", name, n, points, want)
					}
				}
			}
			for _, s := range line.Sources() {
				if s.Name != "otlp/checkout" {
					t.Errorf("source %s", s.Name)
				}
			}
			if refused := line.Foreign(metric.ForeignRefused, nil, record.All); len(refused) > 0 {
				t.Errorf("refused %+v", refused)
			}
		})
	}
}

// A service that ran before the run, is restarted in it, and whose exports fail for a
// while: what it counted during the run is recorded once.
func TestServiceBeforeAndAfterARestart(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	form := sdkForm{metricdata.CumulativeTemporality, sdk.DefaultAggregationSelector(sdk.InstrumentKindHistogram)}
	var handler atomic.Pointer[http.Handler]
	refuse := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "no space left on device", http.StatusServiceUnavailable)
	}))
	handler.Store(&refuse)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)

	count := func(i *instance, n int) {
		for range n {
			i.served.Add(t.Context(), 1)
			i.took.Record(t.Context(), 20)
		}
	}
	flush := func(i *instance, ok bool) {
		t.Helper()
		if err := i.provider.ForceFlush(t.Context()); (err == nil) != ok {
			t.Fatalf("flush: %v", err)
		}
	}
	before := startInstance(t, server.URL, "", form, time.Hour)
	count(before, 100)
	flush(before, false)

	received := &sinks{}
	r := receiver.New(receiver.Sinks{Frames: received.take}, keys, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	r.Routes(mux)
	accept := http.Handler(mux)
	handler.Store(&accept)
	check := func(want int) {
		t.Helper()
		line := timeline(t, received.frames)
		if served, took := sumOf(line, "served"), histOf(line, "http_req_duration").Count(); served != float64(want) || took != uint64(want) {
			t.Errorf("%g served, %d took, want %d", served, took, want)
		}
	}
	flush(before, true)
	check(0) // only the base: nobody knows when these were
	count(before, 7)
	flush(before, true)
	check(7)
	handler.Store(&refuse)
	count(before, 20)
	flush(before, false)
	handler.Store(&accept)
	flush(before, true)
	check(27)
	received.fail = func() error { received.fail = nil; return io.ErrShortWrite } // writing to the record fails once
	count(before, 3)
	flush(before, false)
	flush(before, true)
	check(30)

	after := startInstance(t, server.URL, "", form, time.Hour)
	count(after, 5)
	polltest.Until(t, "the restarted service exports", func() bool {
		flush(after, true)
		line := timeline(t, received.frames)
		return sumOf(line, "served") == 35
	})
	check(35)
	r.Close()
}

// A worker's credential is for its own frames only.
func TestWorkersSendNoMetricsOfOthers(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	_, url, received := listen(t)
	i := startInstance(t, url, "", sdkForm{metricdata.CumulativeTemporality, sdk.DefaultAggregationSelector(sdk.InstrumentKindHistogram)}, time.Hour)
	i.served.Add(t.Context(), 1)
	if err := i.provider.ForceFlush(t.Context()); err != nil || len(received.frames) == 0 {
		t.Fatalf("with the run's token: %d frames, %v", len(received.frames), err)
	}
	n := len(received.frames)
	client, err := otlpmetrichttp.New(
		t.Context(), otlpmetrichttp.WithEndpointURL(url+"/v1/metrics"), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}),
		otlpmetrichttp.WithHeaders(map[string]string{"Authorization": "Bearer " + keys.Credential(0, "identity")}),
	)
	if err != nil {
		t.Fatal(err)
	}
	err = client.Export(t.Context(), &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{
		Name: "served", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Time: time.Now(), Value: 1}}},
	}}}}})
	if err == nil || !strings.Contains(err.Error(), "a resource without assay.source") || len(received.frames) != n {
		t.Errorf("with a worker's credential: %d frames, %v", len(received.frames)-n, err)
	}
}
