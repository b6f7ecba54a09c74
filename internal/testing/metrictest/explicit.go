package metrictest

import (
	"slices"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"assay.dev/assay/internal/observe/metric"
)

// Explicit returns a histogram of these values as a sender with explicit bounds makes it,
// without its extremes.
func Explicit(t testing.TB, bounds []float64, values ...float64) *metric.Hist {
	t.Helper()
	p := &metricspb.HistogramDataPoint{Count: uint64(len(values)), Sum: proto.Float64(0), ExplicitBounds: bounds, BucketCounts: make([]uint64, len(bounds)+1)}
	for _, v := range values {
		i, _ := slices.BinarySearch(bounds, v)
		p.BucketCounts[i]++
		*p.Sum += v
	}
	m := &metricspb.Metric{Name: "h", Data: &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
		AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA,
		DataPoints:             []*metricspb.HistogramDataPoint{p},
	}}}
	source := &commonpb.KeyValue{Key: "assay.source", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "otlp/test"}}}
	data, err := proto.Marshal(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     &respb.Resource{Attributes: []*commonpb.KeyValue{source}},
		ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{m}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	frames, err := metric.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return frames[0].Points[0].Hist
}
