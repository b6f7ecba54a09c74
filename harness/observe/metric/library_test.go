package metric

import (
	"fmt"
	"math"
	"slices"

	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// decodeByLibrary is the reference for Decode, with the library's parser.
func decodeByLibrary(data []byte) ([]Frame, error) {
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
			h := &Hist{
				zero: p.GetZeroCount(), total: p.GetCount(), sum: p.GetSum(), min: p.GetMin(), max: p.GetMax(),
				offset: int(p.GetPositive().GetOffset()), counts: p.GetPositive().GetBucketCounts(),
			}
			err := h.accept(histInfo{
				scale: int(p.GetScale()), zeroThreshold: p.GetZeroThreshold(),
				negative: slices.ContainsFunc(p.GetNegative().GetBucketCounts(), func(n uint64) bool { return n > 0 }),
				hasSum:   p.Sum != nil, hasMin: p.Min != nil, hasMax: p.Max != nil,
			})
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
