package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// text formats frames for comparison: unlike floats, two NaNs are equal as text.
func text(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%q %d %d %t\n", f.Source, f.Sequence, f.Second, f.Closing)
		for _, p := range f.Points {
			fmt.Fprintf(&b, "  %q %q %v %v", p.Series.Key(), p.Series.Unit, p.Kind, p.Value)
			if p.Hist != nil {
				h := *p.Hist
				fmt.Fprintf(&b, " %+v", h)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// sameAsLibrary compares a decoder, which may have been used before, with the library's.
// Requests that the library finds malformed are not compared: the malformed part may be
// in fields that the decoder skips.
func sameAsLibrary(d *Decoder, data []byte) error {
	want, wantErr := decodeByLibrary(data)
	got, err := d.Decode(data)
	wellFormed := proto.Unmarshal(data, &colpb.ExportMetricsServiceRequest{}) == nil
	switch {
	case !wellFormed:
		return nil
	case (err == nil) != (wantErr == nil):
		return fmt.Errorf("error %v, of the library %v", err, wantErr)
	case text(got) != text(want):
		return fmt.Errorf("got\n%swant\n%s", text(got), text(want))
	}
	return nil
}

func TestDecoderMatchesLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Decoder
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			data, err := Encode(rapid.SliceOfN(frames, 0, 3).Draw(t, "frames")...)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameAsLibrary(&d, data); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// unusual are well-formed requests that no usual encoder writes.
func unusual() (all [][]byte) {
	text := func(s string) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
	}
	attributes := []*commonpb.KeyValue{
		{Key: "text", Value: text("a")},
		{Key: "int", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: -3}}},
		{Key: "bool", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}},
		{Key: "double", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.1}}},
		{Key: "bytes", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte("b")}}},
		{Key: "list", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{text("c")}}}}},
		{Key: "none"},
		{Value: text("no key")},
		{Key: "text", Value: text("again")},
	}
	gauge := &metricspb.Metric{Name: "g", Unit: "1", Description: "d", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: []*metricspb.NumberDataPoint{
		{Attributes: attributes, TimeUnixNano: 5e9, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: 0.5}},
		{TimeUnixNano: 1, Value: &metricspb.NumberDataPoint_AsInt{AsInt: -7}},
		{TimeUnixNano: math.MaxUint64},
	}}}}
	sum := func(t metricspb.AggregationTemporality, v int64) *metricspb.Metric {
		return &metricspb.Metric{Name: "s", Data: &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: t, DataPoints: []*metricspb.NumberDataPoint{
			{TimeUnixNano: 2e9, Value: &metricspb.NumberDataPoint_AsInt{AsInt: v}},
		}}}}
	}
	const delta, cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	write := func(m proto.Message) []byte {
		data, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		return data
	}
	// Two concatenated messages in one field are merged.
	request := func(resource *respb.Resource, metrics ...[]byte) []byte {
		scope := []byte{}
		for _, m := range metrics {
			scope = protowire.AppendBytes(protowire.AppendTag(scope, 2, protowire.BytesType), m)
		}
		body := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), scope)
		if resource != nil { // after its metrics
			body = protowire.AppendBytes(protowire.AppendTag(body, 1, protowire.BytesType), write(resource))
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), body)
	}
	service := &respb.Resource{Attributes: []*commonpb.KeyValue{{Key: attrService, Value: text("shop")}}}
	own := &respb.Resource{Attributes: append(attributes, stringAttr(attrSource, "w"), intAttr(attrSequence, 4), intAttr(attrSecond, -1))}
	liar := &respb.Resource{Attributes: []*commonpb.KeyValue{intAttr(attrSource, 1), stringAttr(attrSequence, "1"), intAttr(attrClosing, 1)}}
	for _, r := range []*respb.Resource{nil, service, own, liar} {
		all = append(all, request(r, write(gauge), write(sum(delta, 3))), request(r))
	}
	twice := slices.Concat(write(sum(cumulative, 1)), write(sum(delta, 2)))
	replaced := slices.Concat(write(gauge), write(sum(delta, 2)))
	unpacked := protowire.AppendTag(nil, 2, protowire.VarintType)
	unpacked = protowire.AppendVarint(unpacked, 300)
	point := slices.Concat(
		write(&metricspb.ExponentialHistogramDataPoint{Count: 302, Scale: 3, ZeroCount: 1, Positive: buckets(-2, 1)}),
		protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), unpacked),
		protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1), // unknown
		protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1),  // known, of another type
	)
	exponential := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), point)
	exponential = protowire.AppendVarint(protowire.AppendTag(exponential, 2, protowire.VarintType), uint64(delta))
	hist := protowire.AppendBytes(protowire.AppendTag(nil, exponentialField, protowire.BytesType), exponential)
	return append(
		all,
		request(nil, twice), request(nil, replaced), request(nil, hist), request(nil, nil),
		request(nil, write(sum(cumulative, 1))), request(nil, write(&metricspb.Metric{Data: &metricspb.Metric_Summary{Summary: &metricspb.Summary{}}})),
	)
}

func TestDecodeUnusual(t *testing.T) {
	var d Decoder
	for i, data := range unusual() {
		if err := proto.Unmarshal(data, &colpb.ExportMetricsServiceRequest{}); err != nil {
			t.Fatalf("%d is malformed: %v", i, err)
		}
		if err := sameAsLibrary(&d, data); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestDecodedHistogramsMerge: memory that a decoder reuses does not leak counts into a
// merge.
func TestDecodedHistogramsMerge(t *testing.T) {
	var d Decoder
	for _, values := range [][]float64{{1, 2, 4, 8, 16}, {1, 1.5}} {
		data, err := Encode(Frame{Source: "w", Points: []Point{HistPoint(NewSeries("h", ""), recorded(values))}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		h := got[0].Points[0].Hist
		h.Merge(recorded([]float64{32}))
		if err := h.check(); err != nil {
			t.Errorf("%v and 32: %v", values, err)
		}
	}
}

// TestDecoderForgetsSeries: the cache stays bounded for a sender that keeps creating new
// series.
func TestDecoderForgetsSeries(t *testing.T) {
	var d Decoder
	for i := range maxSeries + 10 {
		data, err := Encode(Frame{Source: "w", Points: []Point{CounterPoint(NewSeries("n", "", "i", fmt.Sprint(i)), 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Decode(data); err != nil || got[0].Points[0].Series.Label("i") != fmt.Sprint(i) {
			t.Fatalf("series %d: %+v, %v", i, got, err)
		}
	}
	if len(d.series) > maxSeries {
		t.Errorf("%d series in the cache, the limit is %d", len(d.series), maxSeries)
	}
}

// FuzzDecode: any accepted request decodes as by the library, is consistent, can be
// encoded and decoded again, and merges within the memory of float64's range.
func FuzzDecode(f *testing.F) {
	for _, frames := range [][]Frame{
		nil,
		{{Source: "worker/0", Sequence: 1, Second: 1, Points: []Point{
			CounterPoint(NewSeries("http_reqs", "1", "name", "pay"), 3), GaugePoint(NewSeries("vus", ""), 0.5),
			HistPoint(NewSeries("d", "ms"), recorded([]float64{0, 1, 200, 1e6})),
		}}},
		{{Source: "host", Closing: true}, {Source: "", Second: -1}},
	} {
		data, err := Encode(frames...)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, data := range unusual() {
		f.Add(data)
	}
	f.Add(foreign(&metricspb.ExponentialHistogramDataPoint{Count: 1, Scale: 20, Positive: buckets(math.MaxInt32, 1)}))
	f.Add(foreign(&metricspb.ExponentialHistogramDataPoint{Count: 2, Scale: -10, ZeroCount: 1, Positive: buckets(-2, 0, 1)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := sameAsLibrary(new(Decoder), data); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			return
		}
		sum := &Hist{}
		for _, frame := range got {
			for _, p := range frame.Points {
				if p.Kind != Histogram {
					continue
				}
				if err := p.Hist.check(); err != nil {
					t.Fatal(err)
				}
				if sum.total+p.Hist.total >= sum.total { // more would overflow
					sum.Merge(p.Hist)
				}
				p.Hist.AtLeast(100)
				p.Hist.Quantile(0.99)
			}
		}
		if len(sum.counts) > maxBuckets {
			t.Fatalf("%d buckets", len(sum.counts))
		}
		again, err := Encode(got...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("decode the encoded frames: %v", err)
		}
	})
}
