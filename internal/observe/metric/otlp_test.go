package metric

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	respb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

var seriesOf = rapid.Custom(func(t *rapid.T) Series {
	word := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "a:b", "a,b:c", "a{b:c}", `a\`, "a\x00"}), rapid.String())
	s := Series{Name: word.Draw(t, "name"), Unit: rapid.SampledFrom([]string{"", "ms", "1"}).Draw(t, "unit")}
	var kv []string
	for _, key := range rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(t, "keys") {
		kv = append(kv, key, word.Draw(t, "value"))
	}
	return NewSeries(s.Name, s.Unit, kv...)
})

var exemplars = rapid.Custom(func(t *rapid.T) Exemplar {
	return Exemplar{
		TraceID: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "trace")), Nanos: rapid.Int64().Draw(t, "nanos"), Value: rapid.Float64().Draw(t, "value"),
		Labels: append([]Label{{ExemplarOutcome, rapid.String().Draw(t, "outcome")}}, ViolatesLabels(rapid.SliceOfN(rapid.String(), 0, 12).Draw(t, "violates"))...),
	}
})

var frames = rapid.Custom(func(t *rapid.T) Frame {
	f := Frame{
		Source: rapid.String().Draw(t, "source"), Sequence: rapid.Uint64().Draw(t, "sequence"),
		Second: rapid.Int64().Draw(t, "second"), Length: rapid.SampledFrom([]int64{0, 0, 2, 60}).Draw(t, "length"), Closing: rapid.Bool().Draw(t, "closing"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "points") {
		s := seriesOf.Draw(t, "series")
		value := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int32(), func(i int32) float64 { return float64(i) }), rapid.Just(math.Inf(1)))
		switch rapid.SampledFrom([]Kind{Counter, Gauge, Histogram}).Draw(t, "kind") {
		case Counter:
			f.Points = append(f.Points, CounterPoint(s, value.Draw(t, "counter")))
		case Gauge:
			f.Points = append(f.Points, GaugePoint(s, value.Draw(t, "gauge")))
		case Histogram:
			p := HistPoint(s, hists.Draw(t, "histogram"))
			p.Exemplars = rapid.SliceOfN(exemplars, 0, 2).Draw(t, "exemplars")
			f.Points = append(f.Points, p)
		}
	}
	return f
})

// sameFrames ignores the order of points: Encode groups them by metric.
func sameFrames(a, b []Frame) string {
	sorted := func(all []Frame) []Frame {
		all = slices.Clone(all)
		for i := range all {
			all[i].Points = slices.Clone(all[i].Points)
			slices.SortStableFunc(all[i].Points, func(p, q Point) int {
				return cmp.Or(cmp.Compare(p.Series.Key(), q.Series.Key()), cmp.Compare(p.Series.Unit, q.Series.Unit), cmp.Compare(p.Kind, q.Kind))
			})
		}
		return all
	}
	return gocmp.Diff(sorted(a), sorted(b), cmpopts.EquateEmpty(),
		gocmp.Comparer(func(a, b *Hist) bool { return a == nil && b == nil || a != nil && b != nil && sameHist(a, b) == "" }))
}

func TestFramesRoundTripOTLP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(frames, 0, 3).Draw(t, "frames")
		data, err := Encode(want...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameFrames(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestEncodeAnyText: labels come from scripts and databases, and may not be UTF-8.
func TestEncodeAnyText(t *testing.T) {
	bad := "\xff\xfe"
	data, err := Encode(Frame{Source: bad, Points: []Point{CounterPoint(NewSeries(bad, bad, bad, bad), 1)}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil || len(got) != 1 || got[0].Points[0].Series.Name != "\uFFFD" {
		t.Errorf("frames %+v, error %v", got, err)
	}
}

func TestKeyIsUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := seriesOf.Draw(t, "a"), seriesOf.Draw(t, "b")
		same := a.Name == b.Name && slices.Equal(a.Labels, b.Labels)
		if same != (a.Key() == b.Key()) {
			t.Fatalf("keys %q and %q, same %v", a.Key(), b.Key(), same)
		}
	})
}

func TestKey(t *testing.T) {
	for want, s := range map[string]Series{
		"http_reqs": NewSeries("http_reqs", "", "name", ""),
		`http_req_duration{method:POST,name:pay}`: NewSeries("http_req_duration", "ms", "name", "pay", "method", "POST"),
		`d{name:http\://x/\{id\}?a\,b\\}`:         NewSeries("d", "", "name", `http://x/{id}?a,b\`),
		`go:gc\{x}`:                               NewSeries("go:gc{x}", ""),
		"d{a:1}":                                  NewSeries("d", "", "a", "1", "a", "2"),
	} {
		if got := s.Key(); got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

// exportOf is a request with one metric of one resource.
func exportOf(m *metricspb.Metric, resource ...*commonpb.KeyValue) []byte {
	data, err := proto.Marshal(&colpb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{
		{Resource: &respb.Resource{Attributes: resource}, ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{m}}}},
	}})
	if err != nil {
		panic(err)
	}
	return data
}

const delta = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA

// exponentialOf is a metric with one histogram.
func exponentialOf(p *metricspb.ExponentialHistogramDataPoint) *metricspb.Metric {
	h := &metricspb.ExponentialHistogram{AggregationTemporality: delta, DataPoints: []*metricspb.ExponentialHistogramDataPoint{p}}
	return &metricspb.Metric{Name: "h", Data: &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: h}}
}

func explicitMetric(p *metricspb.HistogramDataPoint) *metricspb.Metric {
	h := &metricspb.Histogram{AggregationTemporality: delta, DataPoints: []*metricspb.HistogramDataPoint{p}}
	return &metricspb.Metric{Name: "h", Data: &metricspb.Metric_Histogram{Histogram: h}}
}

func buckets(offset int32, counts ...uint64) *metricspb.ExponentialHistogramDataPoint_Buckets {
	return &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: offset, BucketCounts: counts}
}

// Histograms that contradict themselves are an error in a frame, and refused points of a
// foreign sender.
func TestDecodeRejectsInconsistentHistograms(t *testing.T) {
	type point = metricspb.ExponentialHistogramDataPoint
	type explicit = metricspb.HistogramDataPoint
	many := make([]float64, maxExplicit+1)
	for i := range many {
		many[i] = float64(i)
	}
	for want, m := range map[string]*metricspb.Metric{
		"count is 3, buckets hold 2":                exponentialOf(&point{Count: 3, Positive: buckets(0, 1, 1)}),
		"bucket counts overflow":                    exponentialOf(&point{Count: 0, Positive: buckets(0, math.MaxUint64, 1)}),
		"negative observations":                     exponentialOf(&point{Count: 1, Negative: buckets(0, 1)}),
		"scale 21":                                  exponentialOf(&point{Scale: 21}),
		"scale -11":                                 exponentialOf(&point{Scale: -11}),
		"as zero":                                   exponentialOf(&point{Count: 1, ZeroCount: 1, ZeroThreshold: 5}),
		"the range of float64 is":                   exponentialOf(&point{Count: 1, Positive: buckets(math.MaxInt32, 1)}),
		"buckets -2147483648":                       exponentialOf(&point{Count: 1, Positive: buckets(math.MinInt32, 1)}),
		"min 2 above max 1":                         exponentialOf(&point{Count: 1, ZeroCount: 1, Min: proto.Float64(2), Max: proto.Float64(1)}),
		"above the highest bucket, which ends at 0": exponentialOf(&point{Count: 1, ZeroCount: 1, Min: proto.Float64(0), Max: proto.Float64(1.5)}),
		"above the highest bucket, which ends at 2": exponentialOf(&point{Count: 1, Positive: buckets(0, 1), Min: proto.Float64(1.5), Max: proto.Float64(3)}),
		"outside min 1.1 and max 1.9":               exponentialOf(&point{Count: 2, Positive: buckets(0, 1, 1), Min: proto.Float64(1.1), Max: proto.Float64(1.9)}),
		"outside min 3 and max 4":                   exponentialOf(&point{Count: 2, Positive: buckets(0, 1, 1), Min: proto.Float64(3), Max: proto.Float64(4)}),

		"count is 4, buckets hold 3":  explicitMetric(&explicit{Count: 4, ExplicitBounds: []float64{5}, BucketCounts: []uint64{1, 2}}),
		"counts overflow":             explicitMetric(&explicit{Count: 0, ExplicitBounds: []float64{5}, BucketCounts: []uint64{1, math.MaxUint64}}),
		"2 buckets for 2 bounds":      explicitMetric(&explicit{Count: 3, ExplicitBounds: []float64{5, 6}, BucketCounts: []uint64{1, 2}}),
		"0 buckets for 2 bounds":      explicitMetric(&explicit{Count: 3, ExplicitBounds: []float64{5, 6}}),
		"bound 5 after 6":             explicitMetric(&explicit{Count: 3, ExplicitBounds: []float64{6, 5}, BucketCounts: []uint64{1, 2, 0}}),
		"bound 6 after 6":             explicitMetric(&explicit{Count: 3, ExplicitBounds: []float64{6, 6}, BucketCounts: []uint64{1, 2, 0}}),
		"bound NaN":                   explicitMetric(&explicit{ExplicitBounds: []float64{math.NaN()}, BucketCounts: []uint64{0, 0}}),
		"bound +Inf":                  explicitMetric(&explicit{ExplicitBounds: []float64{math.Inf(1)}, BucketCounts: []uint64{0, 0}}),
		"bound -Inf":                  explicitMetric(&explicit{ExplicitBounds: []float64{math.Inf(-1)}, BucketCounts: []uint64{0, 0}}),
		"holds negative observations": explicitMetric(&explicit{Count: 1, ExplicitBounds: []float64{-1}, BucketCounts: []uint64{1, 0}}),
		"more than 1000 bounds":       explicitMetric(&explicit{ExplicitBounds: many, BucketCounts: make([]uint64, len(many)+1)}),
		"which ends at 6":             explicitMetric(&explicit{Count: 1, Min: proto.Float64(1), Max: proto.Float64(7), ExplicitBounds: []float64{5, 6}, BucketCounts: []uint64{0, 1, 0}}),
		"max 9 above the highest":     explicitMetric(&explicit{Count: 1, Min: proto.Float64(8), Max: proto.Float64(9), ExplicitBounds: []float64{5}, BucketCounts: []uint64{1, 0}}),
		"outside min 1 and max 2":     explicitMetric(&explicit{Count: 1, Min: proto.Float64(1), Max: proto.Float64(2), ExplicitBounds: []float64{5}, BucketCounts: []uint64{0, 1}}),
		"min 7 and max 6 outside":     explicitMetric(&explicit{Count: 1, Min: proto.Float64(7), Max: proto.Float64(6), ExplicitBounds: []float64{5}, BucketCounts: []uint64{0, 1}}),
		"min NaN and max NaN":         explicitMetric(&explicit{Count: 1, Min: proto.Float64(math.NaN()), Max: proto.Float64(math.NaN()), ExplicitBounds: []float64{5}, BucketCounts: []uint64{0, 1}}),
	} {
		if _, err := Decode(exportOf(m, stringAttr(attrSource, "w"))); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `metric "h"`) {
			t.Errorf("error %v, want %q", err, want)
		}
		e, err := DecodeExport(exportOf(m))
		key := refusalKey{"otlp/unknown_service", "h", reasonBuckets}
		if err != nil || len(e.points) > 0 || e.refused[key].points != 1 || !strings.Contains(e.refused[key].text, want) {
			t.Errorf("%q of a foreign sender: %+v, %v", want, e, err)
		}
	}
}

// A finer scale, without extremes and sum, and a wide range of buckets of which few are
// used.
func TestDecodeFineHistograms(t *testing.T) {
	counts := make([]uint64, 4000)
	counts[0], counts[3999] = 1, 3 // at scale 10: (2^0, 2^(1/1024)] and (2^(3999/1024), 2^(4000/1024)]
	m := exponentialOf(&metricspb.ExponentialHistogramDataPoint{Count: 4, Scale: 10, Positive: buckets(0, counts...)})
	got, err := Decode(exportOf(m, stringAttr(attrSource, "w")))
	if err != nil {
		t.Fatal(err)
	}
	h := got[0].Points[0].Hist
	for q, want := range map[float64][2]float64{0: {1, math.Exp2(1.0 / 128)}, 1: {math.Exp2(3992.0 / 1024), math.Exp2(4000.0 / 1024)}} {
		if lower, upper, ok := h.Interval(q); !ok || math.Abs(lower-want[0]) > 1e-9 || math.Abs(upper-want[1]) > 1e-9 {
			t.Errorf("%g-quantile from %g to %g, want %v", q, lower, upper, want)
		}
	}
	if want := 1 + 3*math.Exp2(4000.0/1024); h.Scale() != Scale || math.Abs(h.Sum()-want) > 0.005*want {
		t.Errorf("scale %d, sum %g, want about %g", h.Scale(), h.Sum(), want)
	}
}
