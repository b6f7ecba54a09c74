package metrictest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"assay.dev/assay/internal/observe/metric"
)

// Check fails the test where a frame differs from the catalogue.
func Check(t testing.TB, frames ...metric.Frame) {
	t.Helper()
	reported := map[string]bool{}
	for _, f := range frames {
		for _, d := range Differences(f) {
			if !reported[d] {
				reported[d] = true
				t.Error(d)
			}
		}
	}
}

// Differences describes each point whose kind, unit, source or labels differ from the
// catalogue, or whose metric is not in it. Workers may send further metrics, which a
// script registers, and further labels on k6's metrics, by which an SLO selects.
func Differences(f metric.Frame) (all []string) {
	worker, source := metric.IsWorker(f.Source), f.Source
	if metric.IsStub(source) {
		source = metric.SourceStub
	}
	for _, p := range f.Points {
		d, known := descriptor(p)
		differs := func(format string, args ...any) {
			all = append(all, fmt.Sprintf("%s of %s: ", p.Series.Key(), f.Source)+fmt.Sprintf(format, args...))
		}
		switch {
		case !known && worker:
			continue
		case !known:
			differs("not in the catalogue")
			continue
		case d.Kind != p.Kind:
			differs("kind %s, in the catalogue %s", p.Kind, d.Kind)
		case d.Unit != p.Series.Unit && p.Series.Name != metric.DBCounter && p.Series.Name != metric.DBGauge: // the unit depends on the variable
			differs("unit %q, in the catalogue %q", p.Series.Unit, d.Unit)
		case worker && !d.From(metric.SourceWorker) && !d.From(metric.SourceK6), !worker && !d.From(source):
			differs("source is %s in the catalogue", strings.Join(d.Sources, ", "))
		}
		for _, l := range p.Series.Labels {
			if !slices.Contains(d.Labels, l.Key) && l.Key != metric.OverflowLabel && !d.From(metric.SourceK6) {
				differs("the catalogue has no label %s", l.Key)
			}
		}
	}
	return all
}

// descriptor returns the catalogue's entry of a point; for the two counters of a rate it
// is that of the rate, as a counter.
func descriptor(p metric.Point) (metric.Descriptor, bool) {
	name := p.Series.Name
	for _, suffix := range []string{metric.RateTotal, metric.RateOccurred} {
		if rate, ok := strings.CutSuffix(name, suffix); ok {
			d, known := metric.Find(rate)
			if d.Kind == metric.Rate {
				d.Kind = metric.Counter
			}
			return d, known
		}
	}
	return metric.Find(name)
}

// CheckHist fails the test where what a histogram states contradicts the values that were
// recorded: their count, their sum, how many reach each of them, and their quantiles.
func CheckHist(t testing.TB, h *metric.Hist, values []float64) {
	t.Helper()
	if h.Count() != uint64(len(values)) {
		t.Errorf("%d observations, want %d", h.Count(), len(values))
		return
	}
	all, sum := slices.Sorted(slices.Values(values)), 0.0
	for i, v := range all {
		sum += v
		q := (float64(i) + 0.5) / float64(len(all))
		if lower, upper, _ := h.Interval(q); v < lower*0.995 || v > upper*1.005 {
			t.Errorf("the %g-quantile is %g, got %g to %g", q, v, lower, upper)
		}
		first, _ := slices.BinarySearch(all, v)
		if lo, hi := h.AtLeast(v); int(lo) > len(all)-first || int(hi) < len(all)-first {
			t.Errorf("%d are at least %g, got %d to %d", len(all)-first, v, lo, hi)
		}
	}
	if math.Abs(h.Sum()-sum) > 1e-6*sum {
		t.Errorf("sum %g, want %g", h.Sum(), sum)
	}
}

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

// CheckStream fails the test where frames are not the whole stream of a source: numbered
// from 1, and only the last one closing, with the number of the others.
func CheckStream(t testing.TB, source string, frames []metric.Frame) {
	t.Helper()
	if len(frames) == 0 {
		t.Fatalf("no frames of %s", source)
	}
	for i, f := range frames {
		if f.Source != source || f.Sequence != uint64(i+1) || f.Closing != (i == len(frames)-1) {
			t.Errorf("frame %d of %d of %s: source %q, sequence %d, closing %v", i+1, len(frames), source, f.Source, f.Sequence, f.Closing)
		}
	}
	last := frames[len(frames)-1]
	if len(last.Points) != 1 || last.Points[0].Series.Name != metric.WorkerFrames || last.Points[0].Value != float64(len(frames)-1) {
		t.Errorf("the closing frame of %s holds %v, want %s = %d", source, last.Points, metric.WorkerFrames, len(frames)-1)
	}
}

// Hist returns a histogram of these values.
func Hist(values ...float64) *metric.Hist {
	h := &metric.Hist{}
	for _, v := range values {
		h.Record(v, 1)
	}
	return h
}
