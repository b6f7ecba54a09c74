package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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
		fmt.Fprintf(&b, "%q %d %d %d %t\n", f.Source, f.Sequence, f.Second, f.Length, f.Closing)
		for _, p := range f.Points {
			b.WriteString("  " + pointText(p) + "\n")
		}
	}
	return b.String()
}

func pointText(p Point) string {
	text := fmt.Sprintf("%q %q %v %v", p.Series.Key(), p.Series.Unit, p.Kind, p.Value)
	if p.Hist != nil {
		h, b := *p.Hist, *p.Hist.extremes()
		h.bounds = nil
		text += fmt.Sprintf(" %+v %+v", h, b)
	}
	return text
}

// exportText is text for what foreign senders sent too.
func exportText(e *Export) string {
	text := text(e.Frames)
	for _, p := range e.points {
		text += fmt.Sprintf("%q %q %d %d %t %t %s\n", p.from.source, p.from.instance, p.start, p.end, p.cumulative, p.k6, pointText(p.point))
	}
	for _, key := range e.refused.inOrder() {
		text += fmt.Sprintf("%d of %+v\n", e.refused[key].points, key)
	}
	return text
}

// sameAsLibrary compares DecodeExport with the library. Requests that the library finds
// malformed are not compared: the malformed part may be in fields that the decoder
// skips. Nor are those with too many attributes, which only the decoder counts.
func sameAsLibrary(data []byte) error {
	want, wantErr := decodeByLibrary(data)
	got, err := DecodeExport(data)
	switch {
	case proto.Unmarshal(data, &colpb.ExportMetricsServiceRequest{}) != nil:
		return nil
	case (err == nil) != (wantErr == nil):
		return fmt.Errorf("error %v, of the library %v", err, wantErr)
	case err != nil:
		return nil
	case strings.Contains(exportText(got), reasonAttributes):
		return nil
	case exportText(got) != exportText(want):
		return fmt.Errorf("got\n%swant\n%s", exportText(got), exportText(want))
	}
	return nil
}

// A decoder that was used before decodes like the library.
func TestDecoderMatchesLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Decoder
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			data, err := Encode(rapid.SliceOfN(frames, 0, 3).Draw(t, "frames")...)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameAsLibrary(data); err != nil {
				t.Fatal(err)
			}
			got, err := d.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if want, _ := decodeByLibrary(data); text(got) != text(want.Frames) {
				t.Fatalf("got\n%swant\n%s", text(got), text(want.Frames))
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
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
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
	// A field that a gauge does not have, with the number of a sum's temporality.
	odd := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), write(&metricspb.NumberDataPoint{TimeUnixNano: 5, Value: &metricspb.NumberDataPoint_AsInt{AsInt: 1}}))
	odd = protowire.AppendVarint(protowire.AppendTag(odd, 2, protowire.VarintType), uint64(cumulative))
	odd = protowire.AppendBytes(protowire.AppendTag(nil, gaugeField, protowire.BytesType), odd)
	return append(
		all, request(nil, odd),
		request(nil, twice), request(nil, replaced), request(nil, hist), request(nil, nil),
		request(nil, write(sum(cumulative, 1))), request(nil, write(&metricspb.Metric{Data: &metricspb.Metric_Summary{Summary: &metricspb.Summary{}}})),
	)
}

func TestDecodeUnusual(t *testing.T) {
	for i, data := range unusual() {
		if err := proto.Unmarshal(data, &colpb.ExportMetricsServiceRequest{}); err != nil {
			t.Fatalf("%d is malformed: %v", i, err)
		}
		if err := sameAsLibrary(data); err != nil {
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
	const each = 500 // in a message
	for first := 0; first < maxSeries+each; first += each {
		f := Frame{Source: "w"}
		for i := range each {
			f.Points = append(f.Points, CounterPoint(NewSeries("n", "", "i", fmt.Sprint(first+i)), 1))
		}
		data, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(data)
		if err != nil || len(got[0].Points) != each {
			t.Fatalf("series %d: %+v, %v", first, got, err)
		}
		for i, p := range got[0].Points {
			if p.Series.Label("i") != fmt.Sprint(first+i) {
				t.Fatalf("series %d is %+v", first+i, p)
			}
		}
	}
	if len(d.series) > maxSeries {
		t.Errorf("%d series in the cache, the limit is %d", len(d.series), maxSeries)
	}
}

// TestDecoderForgetsLongSeries: a hundred thousand bytes of one letter are a few in a
// compressed file.
func TestDecoderForgetsLongSeries(t *testing.T) {
	var d Decoder
	long := strings.Repeat("x", 100_000)
	for n := range 500 {
		data, err := Encode(Frame{Source: "w", Points: []Point{CounterPoint(NewSeries(long, "", "i", fmt.Sprint(n)), 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Decode(data); err != nil || got[0].Points[0].Series.Label("i") != fmt.Sprint(n) {
			t.Fatalf("series %d: %v", n, err)
		}
	}
	kept := 0
	for key := range d.series {
		kept += len(key)
	}
	if kept == 0 || kept > maxKeysBytes+2*len(long) {
		t.Errorf("%d bytes of keys are in the cache, the limit is %d", kept, maxKeysBytes)
	}
}

// FuzzDecode: any accepted request decodes as by the library, is consistent, can be
// encoded and decoded again, and merges within the memory of float64's range. What
// foreign senders sent counts once.
func FuzzDecode(f *testing.F) {
	for _, frames := range [][]Frame{
		nil,
		{{Source: "worker/0", Sequence: 1, Second: 1, Points: []Point{
			CounterPoint(NewSeries("http_reqs", "1", "name", "pay"), 3), GaugePoint(NewSeries("vus", ""), 0.5),
			HistPoint(NewSeries("d", "ms"), recorded([]float64{0, 1, 200, 1e6})),
		}}},
		{{Source: "host", Closing: true}, {Source: "", Second: -1}},
		{{Source: "otlp/shop", Second: 70, Length: 60, Points: []Point{
			HistPoint(NewSeries("d", "ms"), explicitHist(f, []float64{0, 3, 400}, []float64{0, 5, 250}, histInfo{hasSum: true})),
			HistPoint(NewSeries("d", "ms"), merged(recorded([]float64{1, 2}), explicitHist(f, []float64{0, 3, 400}, []float64{2, 250}, histInfo{}))),
		}}},
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
	f.Add(exportOf(exponentialOf(&metricspb.ExponentialHistogramDataPoint{Count: 1, Scale: 20, Positive: buckets(math.MaxInt32, 1)})))
	f.Add(exportOf(exponentialOf(&metricspb.ExponentialHistogramDataPoint{Count: 2, Scale: -10, ZeroCount: 1, Positive: buckets(-2, 0, 1)})))
	f.Add(exportOf(explicitMetric(&metricspb.HistogramDataPoint{Count: 3, TimeUnixNano: at(1), ExplicitBounds: []float64{-1, 0, 250}, BucketCounts: []uint64{0, 1, 1, 1}})))
	for _, temporality := range []metricspb.AggregationTemporality{delta, cumulative} {
		h := explicitMetric(&metricspb.HistogramDataPoint{Count: 3, StartTimeUnixNano: at(1), TimeUnixNano: at(9), Min: proto.Float64(1), Max: proto.Float64(400), ExplicitBounds: []float64{250}, BucketCounts: []uint64{1, 2}})
		h.GetHistogram().AggregationTemporality = temporality
		e := exponentialOf(&metricspb.ExponentialHistogramDataPoint{Count: 3, StartTimeUnixNano: at(1), TimeUnixNano: at(9), Sum: proto.Float64(7), Scale: 2, Positive: buckets(1, 1, 2)})
		e.GetExponentialHistogram().AggregationTemporality = temporality
		f.Add(export("k6", service("k6", stringAttr(attrInstance, "1")), h, e, gaugeOf("vus", value(1, 9, 2)), levelOf("l", value(1, 9, 2)),
			sumOf(temporality, "n.total", value(1, 8, 2, "condition", "nonzero"), value(1, 9, 3, "condition", "nonzero"), value(1, 9, 4, "condition", "zero"), value(math.NaN(), 9, 1))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := sameAsLibrary(data); err != nil {
			t.Fatal(err)
		}
		e, err := DecodeExport(data)
		if err != nil {
			return
		}
		checkFrames(t, e.Frames)
		a, now := NewAccumulation(time.Unix(0, 1)), opened
		if len(e.points) > 0 {
			now = time.Unix(0, int64(e.points[0].end))
		}
		first, _ := receive(t, a, data, now.Sub(opened).Seconds())
		checkFrames(t, first)
		again, _ := receive(t, a, data, now.Sub(opened).Seconds())
		if text := lines(again); len(text) > 0 {
			t.Fatalf("counted again: %q, first %q", text, lines(first))
		}
	})
}

// checkFrames fails the test where frames are inconsistent, or cannot be encoded.
func checkFrames(t *testing.T, frames []Frame) {
	t.Helper()
	sum := &Hist{}
	for _, frame := range frames {
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
			lo, hi := p.Hist.AtLeast(100)
			lower, upper, ok := p.Hist.Interval(0.99)
			if v, _ := p.Hist.Quantile(0.99); lo > hi || hi > p.Hist.total || ok && !(lower <= v && v <= upper) {
				t.Fatalf("at least 100: %d to %d of %d; p99 %g, from %g to %g", lo, hi, p.Hist.total, v, lower, upper)
			}
		}
	}
	if len(sum.counts) > maxBuckets {
		t.Fatalf("%d buckets", len(sum.counts))
	}
	again, err := Encode(frames...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(again); err != nil {
		t.Fatalf("decode the encoded frames: %v", err)
	}
}
