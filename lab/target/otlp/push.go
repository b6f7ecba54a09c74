package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"assay.dev/assay/internal/mask"
)

const (
	every = time.Second
	// patience bounds a push: the next one includes its increases.
	patience = 5 * time.Second
)

// CheckURL refuses text that is not a base URL, without quoting it.
func CheckURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("want a URL like http://127.0.0.1:4318")
	case u.User != nil || mask.Holds(base):
		return errors.New("the URL holds a user, password or token, which every user of this host can read; set OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// Named reports whether a receiver is configured, by its base URL or the environment.
func Named(base string) bool {
	return cmp.Or(base, os.Getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
}

// Start pushes the registry every second, to the base URL or else that of the
// environment. stop pushes once more. failed is called after each failed push.
func Start(ctx context.Context, base string, registry prometheus.Gatherer, failed func(error)) (stop func(context.Context) error, err error) {
	// No retries by the exporter: the next push includes the same increases.
	options := []otlpmetrichttp.Option{otlpmetrichttp.WithTimeout(patience), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{})}
	if base != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(strings.TrimRight(base, "/")+"/v1/metrics"))
	}
	client, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("push metrics: %w", err)
	}
	who, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "assay-target")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("push metrics: read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	d := &deltas{from: bridge.NewMetricProducer(bridge.WithGatherer(registry)), since: time.Now()}
	reader := sdk.NewPeriodicReader(&exporter{client, d, failed}, sdk.WithInterval(every), sdk.WithTimeout(patience), sdk.WithProducer(d))
	return sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithResource(who)).Shutdown, nil
}

// exporter reports successful pushes to deltas.
type exporter struct {
	sdk.Exporter
	deltas *deltas
	failed func(error)
}

// Export pushes. Its errors go to failed: the SDK has one handler for all errors of a
// process. A push that is on its way when stop is called goes on to its end, within
// patience: cut off before its answer, it would be made again, and be counted twice.
func (e *exporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(context.WithoutCancel(ctx), m); err != nil {
		e.failed(err)
		return nil
	}
	e.deltas.acknowledge()
	return nil
}
