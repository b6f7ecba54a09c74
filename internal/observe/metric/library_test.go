package metric

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"assay.dev/assay/internal/mask"
)

// decodeByLibrary is the reference for DecodeExport, with the library's parser. It does
// not set the digests of points, nor refuse attributes.
func decodeByLibrary(data []byte) (*Export, error) {
	req := &colpb.ExportMetricsServiceRequest{}
	if err := proto.Unmarshal(data, req); err != nil {
		return nil, fmt.Errorf("decode frames: %w", err)
	}
	e := &Export{}
	for _, rm := range req.GetResourceMetrics() {
		if err := e.addByLibrary(rm); err != nil {
			return nil, fmt.Errorf("decode frames: %w", err)
		}
	}
	return e, nil
}

func (e *Export) addByLibrary(rm *metricspb.ResourceMetrics) error {
	var f Frame
	from, own, service := &foreign{}, false, ""
	for _, a := range rm.GetResource().GetAttributes() {
		switch a.GetKey() {
		case attrSource:
			f.Source, own = a.GetValue().GetStringValue(), true
		case attrSequence:
			f.Sequence = uint64(a.GetValue().GetIntValue())
		case attrSecond:
			f.Second = a.GetValue().GetIntValue()
		case attrLength:
			f.Length = a.GetValue().GetIntValue()
		case attrClosing:
			f.Closing = a.GetValue().GetBoolValue()
		case attrService:
			service = a.GetValue().GetStringValue()
		case attrInstance:
			from.instance = mask.Cut(labelOf(a.GetValue()), maxServiceText)
		}
	}
	from.source = "otlp/" + cmp.Or(mask.Cut(service, maxServiceText), "unknown_service")
	for _, sm := range rm.GetScopeMetrics() {
		for _, m := range sm.GetMetrics() {
			kind, h, points := contentOf(m)
			unfit := h.unfit(kind)
			if own && (unfit != nil || kind != gaugeField && h.temporality != temporalityDelta) {
				// the sums of frames may be of any sign
				if kind != sumField || h.temporality != temporalityDelta {
					return fmt.Errorf("metric %q: not our own", m.GetName())
				}
			}
			for _, p := range points {
				reason, err := p.check(0, 0)
				switch {
				case own && p.unfit != nil:
					return fmt.Errorf("metric %q: %w", m.GetName(), p.unfit)
				case own:
					f.Points = append(f.Points, p.point)
				case unfit != nil:
					e.refused.add(from.source, m.GetName(), reasonKind, unfit)
				case err != nil:
					e.refused.add(from.source, p.point.Series.Name, reason, err)
				case !p.missing:
					if kind == sumField && !h.monotonic {
						p.point.Kind, h.temporality = Gauge, 0
					}
					if s := p.point.Hist; s != nil && (math.IsInf(s.sum, 0) || math.IsNaN(s.sum)) {
						s.sum = math.NaN()
					}
					e.points = append(e.points, measured{
						from: from, start: p.start, end: p.end, point: p.point,
						cumulative: h.temporality == temporalityCumulative, k6: sm.GetScope().GetName() == "k6",
					})
				}
			}
		}
	}
	if own {
		e.Frames = append(e.Frames, f)
	}
	return nil
}

// contentOf are the points of a metric.
func contentOf(m *metricspb.Metric) (kind protowire.Number, h header, points []dataPoint) {
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		return gaugeField, h, numbersOf(m, Gauge, d.Gauge.GetDataPoints())
	case *metricspb.Metric_Sum:
		h = header{int32(d.Sum.GetAggregationTemporality()), d.Sum.GetIsMonotonic()}
		return sumField, h, numbersOf(m, Counter, d.Sum.GetDataPoints())
	case *metricspb.Metric_ExponentialHistogram:
		for _, p := range d.ExponentialHistogram.GetDataPoints() {
			h := &Hist{
				zero: p.GetZeroCount(), total: p.GetCount(), sum: p.GetSum(), min: p.GetMin(), max: p.GetMax(),
				offset: int(p.GetPositive().GetOffset()), counts: p.GetPositive().GetBucketCounts(),
			}
			point := dataPoint{start: p.GetStartTimeUnixNano(), end: p.GetTimeUnixNano(), missing: p.GetFlags()&1 != 0}
			point.unfit = h.accept(histInfo{
				scale: int(p.GetScale()), zeroThreshold: p.GetZeroThreshold(),
				negative: slices.ContainsFunc(p.GetNegative().GetBucketCounts(), func(n uint64) bool { return n > 0 }),
				hasSum:   p.Sum != nil, hasMin: p.Min != nil, hasMax: p.Max != nil,
			})
			point.point = HistPoint(decodeSeries(m, p.GetAttributes()), h)
			points = append(points, point)
		}
		return exponentialField, header{temporality: int32(d.ExponentialHistogram.GetAggregationTemporality())}, points
	case *metricspb.Metric_Histogram:
		for _, p := range d.Histogram.GetDataPoints() {
			h := &Hist{total: p.GetCount(), sum: p.GetSum(), min: p.GetMin(), max: p.GetMax()}
			limits := make([]uint64, len(p.GetExplicitBounds()))
			for i, v := range p.GetExplicitBounds() {
				limits[i] = math.Float64bits(v)
			}
			point := dataPoint{start: p.GetStartTimeUnixNano(), end: p.GetTimeUnixNano(), missing: p.GetFlags()&1 != 0}
			point.unfit = h.acceptExplicit(limits, p.GetBucketCounts(), histInfo{hasSum: p.Sum != nil, hasMin: p.Min != nil, hasMax: p.Max != nil})
			point.point = HistPoint(decodeSeries(m, p.GetAttributes()), h)
			points = append(points, point)
		}
		return explicitField, header{temporality: int32(d.Histogram.GetAggregationTemporality())}, points
	case *metricspb.Metric_Summary:
		for range d.Summary.GetDataPoints() {
			points = append(points, dataPoint{unfit: errors.New("a summary")})
		}
		return summaryField, h, points
	}
	return 0, h, nil
}

func numbersOf(m *metricspb.Metric, kind Kind, all []*metricspb.NumberDataPoint) (points []dataPoint) {
	for _, p := range all {
		point := Point{Series: decodeSeries(m, p.GetAttributes()), Kind: kind, Value: number(p)}
		points = append(points, dataPoint{
			start: p.GetStartTimeUnixNano(), end: p.GetTimeUnixNano(), point: point,
			missing: p.GetValue() == nil || p.GetFlags()&1 != 0,
		})
	}
	return points
}

func decodeSeries(m *metricspb.Metric, attrs []*commonpb.KeyValue) Series {
	kv := make([]string, 0, 2*len(attrs))
	for _, a := range attrs {
		kv = append(kv, a.GetKey(), labelOf(a.GetValue()))
	}
	return NewSeries(m.GetName(), m.GetUnit(), kv...)
}

func labelOf(v *commonpb.AnyValue) string {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(x.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(x.DoubleValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(x.BoolValue)
	}
	return ""
}

func number(p *metricspb.NumberDataPoint) float64 {
	if v, ok := p.GetValue().(*metricspb.NumberDataPoint_AsInt); ok {
		return float64(v.AsInt)
	}
	return p.GetAsDouble()
}
