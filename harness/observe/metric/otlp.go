package metric

import (
	"fmt"
	"math"
	"strings"

	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// Resource attributes that identify a frame. A sender that does not set attrSource is
// foreign: its frames have no sequence, and its points are assigned to the second in
// which their interval ends.
const (
	attrSource   = "assay.source"
	attrSequence = "assay.sequence"
	attrSecond   = "assay.second"
	attrClosing  = "assay.closing"
	attrService  = "service.name"
)

const nanos = int64(1e9)

// Encode writes frames as one OTLP ExportMetricsServiceRequest (protobuf) with
// delta temporality.
func Encode(frames ...Frame) ([]byte, error) {
	req := &colpb.ExportMetricsServiceRequest{}
	for _, f := range frames {
		req.ResourceMetrics = append(req.ResourceMetrics, encodeFrame(f))
	}
	data, err := proto.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode frames: %w", err)
	}
	return data, nil
}

func encodeFrame(f Frame) *metricspb.ResourceMetrics {
	attrs := []*commonpb.KeyValue{
		stringAttr(attrService, "assay"),
		stringAttr(attrSource, f.Source),
		intAttr(attrSequence, int64(f.Sequence)),
		intAttr(attrSecond, f.Second),
	}
	if f.Closing {
		attrs = append(attrs, &commonpb.KeyValue{Key: attrClosing, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}})
	}
	scope := &metricspb.ScopeMetrics{}
	type identity struct {
		name, unit string
		kind       Kind
	}
	byName := map[identity]*metricspb.Metric{}
	for _, p := range f.Points {
		id := identity{p.Series.Name, p.Series.Unit, p.Kind}
		m := byName[id]
		if m == nil {
			m = newMetric(p)
			byName[id] = m
			scope.Metrics = append(scope.Metrics, m)
		}
		appendPoint(m, p, f.Second)
	}
	return &metricspb.ResourceMetrics{
		Resource:     &respb.Resource{Attributes: attrs},
		ScopeMetrics: []*metricspb.ScopeMetrics{scope},
	}
}

func newMetric(p Point) *metricspb.Metric {
	m := &metricspb.Metric{Name: validText(p.Series.Name), Unit: validText(p.Series.Unit)}
	delta := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	switch p.Kind {
	case Counter:
		m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: delta, IsMonotonic: true}}
	case Gauge:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{}}
	case Histogram:
		m.Data = &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{AggregationTemporality: delta}}
	}
	return m
}

func appendPoint(m *metricspb.Metric, p Point, second int64) {
	attrs := make([]*commonpb.KeyValue, 0, len(p.Series.Labels))
	for _, l := range p.Series.Labels {
		attrs = append(attrs, stringAttr(l.Key, l.Value))
	}
	start, end := uint64(second*nanos), uint64((second+1)*nanos)
	switch p.Kind {
	case Counter:
		s := m.GetSum()
		s.DataPoints = append(s.DataPoints, numberPoint(attrs, start, end, p.Value))
	case Gauge:
		g := m.GetGauge()
		g.DataPoints = append(g.DataPoints, numberPoint(attrs, start, end, p.Value))
	case Histogram:
		h := p.Hist
		d := &metricspb.ExponentialHistogramDataPoint{
			Attributes: attrs, StartTimeUnixNano: start, TimeUnixNano: end,
			Count: h.total, ZeroCount: h.zero, Scale: int32(h.Scale()),
			Sum: proto.Float64(h.sum),
		}
		if h.total > 0 {
			d.Min, d.Max = proto.Float64(h.min), proto.Float64(h.max)
		}
		if len(h.counts) > 0 {
			d.Positive = &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: int32(h.offset), BucketCounts: h.counts}
		}
		eh := m.GetExponentialHistogram()
		eh.DataPoints = append(eh.DataPoints, d)
	}
}

func numberPoint(attrs []*commonpb.KeyValue, start, end uint64, v float64) *metricspb.NumberDataPoint {
	p := &metricspb.NumberDataPoint{Attributes: attrs, StartTimeUnixNano: start, TimeUnixNano: end}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		p.Value = &metricspb.NumberDataPoint_AsInt{AsInt: int64(v)}
	} else {
		p.Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: v}
	}
	return p
}

func stringAttr(k, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: validText(k), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: validText(v)}}}
}

// validText makes a valid protobuf string: a label from a script may not be UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func intAttr(k string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: k, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}
