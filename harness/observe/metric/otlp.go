package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"

	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// Resource attributes that carry a frame's identity; a sender without them is
// foreign: its frames have no sequence, and its points are put to the second
// in which their interval ends.
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

// validText: protobuf strings are UTF-8; a label from a script may be anything.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func intAttr(k string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: k, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}

// Decode reads one ExportMetricsServiceRequest. What it cannot represent is an
// error that names the metric: cumulative sums, histograms with explicit
// bounds, negative observations in buckets, summaries.
func Decode(data []byte) ([]Frame, error) {
	req := &colpb.ExportMetricsServiceRequest{}
	if err := proto.Unmarshal(data, req); err != nil {
		return nil, fmt.Errorf("decode frames: %w", err)
	}
	var frames []Frame
	for _, rm := range req.GetResourceMetrics() {
		fs, err := decodeResource(rm)
		if err != nil {
			return nil, fmt.Errorf("decode frames: %w", err)
		}
		frames = append(frames, fs...)
	}
	return frames, nil
}

func decodeResource(rm *metricspb.ResourceMetrics) ([]Frame, error) {
	var f Frame
	var service string
	own := false
	for _, a := range rm.GetResource().GetAttributes() {
		switch a.GetKey() {
		case attrSource:
			f.Source, own = a.GetValue().GetStringValue(), true
		case attrSequence:
			f.Sequence = uint64(a.GetValue().GetIntValue())
		case attrSecond:
			f.Second = a.GetValue().GetIntValue()
		case attrClosing:
			f.Closing = a.GetValue().GetBoolValue()
		case attrService:
			service = a.GetValue().GetStringValue()
		}
	}
	type timed struct {
		second int64
		point  Point
	}
	var points []timed
	for _, sm := range rm.GetScopeMetrics() {
		for _, m := range sm.GetMetrics() {
			err := eachPoint(m, func(end uint64, p Point) {
				points = append(points, timed{(int64(min(end, math.MaxInt64)) - 1) / nanos, p})
			})
			if err != nil {
				return nil, fmt.Errorf("metric %q: %w", m.GetName(), err)
			}
		}
	}
	if own {
		for _, t := range points {
			f.Points = append(f.Points, t.point)
		}
		return []Frame{f}, nil
	}
	bySecond := map[int64]*Frame{}
	var seconds []int64
	for _, t := range points {
		g := bySecond[t.second]
		if g == nil {
			g = &Frame{Source: "otlp/" + service, Second: t.second}
			bySecond[t.second] = g
			seconds = append(seconds, t.second)
		}
		g.Points = append(g.Points, t.point)
	}
	slices.Sort(seconds)
	frames := make([]Frame, 0, len(seconds))
	for _, s := range seconds {
		frames = append(frames, *bySecond[s])
	}
	return frames, nil
}

func eachPoint(m *metricspb.Metric, yield func(end uint64, p Point)) error {
	delta := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Sum:
		if d.Sum.GetAggregationTemporality() != delta {
			return fmt.Errorf("sum is not of delta temporality")
		}
		for _, p := range d.Sum.GetDataPoints() {
			yield(p.GetTimeUnixNano(), CounterPoint(decodeSeries(m, p.GetAttributes()), number(p)))
		}
	case *metricspb.Metric_Gauge:
		for _, p := range d.Gauge.GetDataPoints() {
			yield(p.GetTimeUnixNano(), GaugePoint(decodeSeries(m, p.GetAttributes()), number(p)))
		}
	case *metricspb.Metric_ExponentialHistogram:
		if d.ExponentialHistogram.GetAggregationTemporality() != delta {
			return fmt.Errorf("histogram is not of delta temporality")
		}
		for _, p := range d.ExponentialHistogram.GetDataPoints() {
			h, err := decodeHist(p)
			if err != nil {
				return err
			}
			yield(p.GetTimeUnixNano(), HistPoint(decodeSeries(m, p.GetAttributes()), h))
		}
	default:
		return fmt.Errorf("neither sum, gauge nor exponential histogram")
	}
	return nil
}

func decodeSeries(m *metricspb.Metric, attrs []*commonpb.KeyValue) Series {
	kv := make([]string, 0, 2*len(attrs))
	for _, a := range attrs {
		v := a.GetValue().GetStringValue()
		if _, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValue); !ok {
			v = fmt.Sprint(anyValue(a.GetValue()))
		}
		kv = append(kv, a.GetKey(), v)
	}
	return NewSeries(m.GetName(), m.GetUnit(), kv...)
}

func anyValue(v *commonpb.AnyValue) any {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_IntValue:
		return x.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	}
	return ""
}

func number(p *metricspb.NumberDataPoint) float64 {
	if v, ok := p.GetValue().(*metricspb.NumberDataPoint_AsInt); ok {
		return float64(v.AsInt)
	}
	return p.GetAsDouble()
}
