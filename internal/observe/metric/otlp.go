// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"math"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Resource attributes that identify a frame. A sender that does not set attrSource is
// foreign, see DecodeExport.
const (
	attrSource   = "assay.source"
	attrSequence = "assay.sequence"
	attrSecond   = "assay.second"
	attrLength   = "assay.length" // missing: one second
	attrClosing  = "assay.closing"
	attrService  = "service.name"
)

const nanos = int64(1e9)

// Encode writes frames as one OTLP ExportMetricsServiceRequest (protobuf) with
// delta temporality. MetricsData is the same message on the wire; the package of the
// request would link gRPC into every program that reads frames.
func Encode(frames ...Frame) ([]byte, error) {
	req := &metricspb.MetricsData{}
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
	if f.Length > 1 {
		attrs = append(attrs, intAttr(attrLength, f.Length))
	}
	if f.Closing {
		attrs = append(attrs, &commonpb.KeyValue{Key: attrClosing, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}})
	}
	scope := &metricspb.ScopeMetrics{}
	type identity struct {
		name, unit string
		form       protowire.Number
	}
	byName := map[identity]*metricspb.Metric{}
	start, end := uint64(f.First()*nanos), uint64((f.Second+1)*nanos)
	add := func(p Point, form protowire.Number) {
		id := identity{p.Series.Name, p.Series.Unit, form}
		m := byName[id]
		if m == nil {
			m = newMetric(p.Series, form)
			byName[id] = m
			scope.Metrics = append(scope.Metrics, m)
		}
		appendPoint(m, p, start, end)
	}
	for _, p := range f.Points {
		switch p.Kind {
		case Counter:
			add(p, sumField)
		case Gauge:
			add(p, gaugeField)
		case Histogram:
			for i, h := range p.Hist.parts() {
				part, form := HistPoint(p.Series, h), protowire.Number(exponentialField)
				if i == 0 {
					part.Exemplars = p.Exemplars
				}
				if len(h.ranges()) > 0 {
					form = explicitField
				}
				add(part, form)
			}
		}
	}
	return &metricspb.ResourceMetrics{
		Resource:     &respb.Resource{Attributes: attrs},
		ScopeMetrics: []*metricspb.ScopeMetrics{scope},
	}
}

func newMetric(s Series, form protowire.Number) *metricspb.Metric {
	m := &metricspb.Metric{Name: validText(s.Name), Unit: validText(s.Unit)}
	delta := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	switch form {
	case sumField:
		m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: delta, IsMonotonic: true}}
	case gaugeField:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{}}
	case exponentialField:
		m.Data = &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{AggregationTemporality: delta}}
	case explicitField:
		m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{AggregationTemporality: delta}}
	}
	return m
}

func appendPoint(m *metricspb.Metric, p Point, start, end uint64) {
	attrs := labelAttrs(p.Series.Labels)
	switch data := m.Data.(type) {
	case *metricspb.Metric_Sum:
		data.Sum.DataPoints = append(data.Sum.DataPoints, numberPoint(attrs, start, end, p.Value))
	case *metricspb.Metric_Gauge:
		data.Gauge.DataPoints = append(data.Gauge.DataPoints, numberPoint(attrs, start, end, p.Value))
	case *metricspb.Metric_ExponentialHistogram:
		d := p.Hist.exponentialPoint()
		d.Attributes, d.StartTimeUnixNano, d.TimeUnixNano, d.Exemplars = attrs, start, end, encodeExemplars(p.Exemplars)
		data.ExponentialHistogram.DataPoints = append(data.ExponentialHistogram.DataPoints, d)
	case *metricspb.Metric_Histogram:
		d := p.Hist.explicitPoint()
		d.Attributes, d.StartTimeUnixNano, d.TimeUnixNano, d.Exemplars = attrs, start, end, encodeExemplars(p.Exemplars)
		data.Histogram.DataPoints = append(data.Histogram.DataPoints, d)
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

func labelAttrs(labels []Label) []*commonpb.KeyValue {
	attrs := make([]*commonpb.KeyValue, 0, len(labels))
	for _, l := range labels {
		attrs = append(attrs, stringAttr(l.Key, l.Value))
	}
	return attrs
}

func stringAttr(k, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: validText(k), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: validText(v)}}}
}

// validText makes a valid protobuf string: a label from a script may not be UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func intAttr(k string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: k, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}
