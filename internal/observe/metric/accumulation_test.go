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
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// opened is when the receiver of these tests is opened.
var opened = time.Unix(1_795_219_000, 0)

// at is a time so many seconds after opened, in unix ns.
func at(seconds float64) uint64 { return uint64(opened.UnixNano() + int64(seconds*1e9)) }

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// export is a request of one resource and scope.
func export(scope string, resource []*commonpb.KeyValue, all ...*metricspb.Metric) []byte {
	data, err := proto.Marshal(&colpb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     &respb.Resource{Attributes: resource},
		ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: &commonpb.InstrumentationScope{Name: scope}, Metrics: all}},
	}}})
	if err != nil {
		panic(err)
	}
	return data
}

func service(name string, more ...*commonpb.KeyValue) []*commonpb.KeyValue {
	return append([]*commonpb.KeyValue{stringAttr(attrService, name)}, more...)
}

func attributes(keyValues ...string) (all []*commonpb.KeyValue) {
	for i := 0; i < len(keyValues); i += 2 {
		all = append(all, stringAttr(keyValues[i], keyValues[i+1]))
	}
	return all
}

// value is one point of a sum or gauge.
func value(start, end, v float64, labels ...string) *metricspb.NumberDataPoint {
	p := numberPoint(attributes(labels...), 0, at(end), v)
	if !math.IsNaN(start) {
		p.StartTimeUnixNano = at(start)
	}
	return p
}

func sumOf(t metricspb.AggregationTemporality, name string, points ...*metricspb.NumberDataPoint) *metricspb.Metric {
	return &metricspb.Metric{Name: name, Data: &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: t, IsMonotonic: true, DataPoints: points}}}
}

func levelOf(name string, points ...*metricspb.NumberDataPoint) *metricspb.Metric {
	m := sumOf(cumulative, name, points...)
	m.GetSum().IsMonotonic = false
	return m
}

func gaugeOf(name string, points ...*metricspb.NumberDataPoint) *metricspb.Metric {
	return &metricspb.Metric{Name: name, Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: points}}}
}

// receive passes a request on, and commits all of it.
func receive(t rapid.TB, a *Accumulation, data []byte, now float64) (frames []Frame, taken Taken) {
	t.Helper()
	e, err := DecodeExport(data)
	if err != nil {
		t.Fatal(err)
	}
	taken = a.Take(e, time.Unix(0, int64(at(now))))
	for _, s := range taken.Steps {
		s.Commit()
		frames = append(frames, s.Frame)
	}
	return frames, taken
}

// lines are the points of frames, without those of the receiver itself, as
// "from-to key=value" with seconds after opened.
func lines(frames []Frame) (all []string) {
	for _, f := range frames {
		for _, p := range f.Points {
			if p.Series.Name == ForeignDelay || p.Series.Name == ForeignRefused {
				continue
			}
			v := fmt.Sprint(p.Value)
			if p.Hist != nil {
				v = fmt.Sprint(p.Hist.Count())
			}
			all = append(all, fmt.Sprintf("%d-%d %s=%s", f.First()-opened.Unix(), f.Second-opened.Unix(), p.Series.Key(), v))
		}
	}
	return all
}

// refusedText are the refusals in frames, as "metric reason=points".
func refusedText(frames []Frame) (all []string) {
	for _, f := range frames {
		for _, p := range f.Points {
			if p.Series.Name == ForeignRefused {
				all = append(all, fmt.Sprintf("%s %s=%g", p.Series.Label("metric"), p.Series.Label("reason"), p.Value))
			}
		}
	}
	return all
}

// nan is the start of a point that does not say it.
var nan = math.NaN()

// A series of totals, and the increases that it becomes.
func TestTotalsBecomeIncreases(t *testing.T) {
	type step struct {
		now   float64
		start float64
		value float64
		want  string // the increase, "" for none
	}
	for name, steps := range map[string][]step{
		"a sender that starts during the run counts whole": {
			{10, 3.5, 40, "3-9 n=40"}, {20, 3.5, 41, "10-19 n=1"}, {30, 3.5, 41, "20-29 n=0"}, {40.5, 3.5, 51, "30-40 n=10"},
		},
		"of one that ran before, the first total is the base": {
			{10, -100, 5000, ""}, {20, -100, 5007, "10-19 n=7"},
		},
		"nor does a sender count that does not say since when": {
			{10, nan, 5000, ""}, {20, nan, 5007, "10-19 n=7"}, {30, nan, 3, "20-29 n=3"},
		},
		"after a restart all counts": {
			{10, -100, 5000, ""}, {20, 14, 8, "14-19 n=8"}, {30, 14, 9, "20-29 n=1"},
		},
		"after a fall all counts": {
			{10, 2, 50, "2-9 n=50"}, {20, 2, 8, "10-19 n=8"}, {30, 2, 9, "20-29 n=1"},
		},
		"a lost export makes the interval longer": {
			{10, 2, 50, "2-9 n=50"}, {40, 2, 80, "10-39 n=30"},
		},
		"a repeated export counts once": {
			{10, 2, 50, "2-9 n=50"}, {10, 2, 50, ""}, {20, 2, 60, "10-19 n=10"}, {20, 2, 60, ""}, {10, 2, 50, ""}, {30, 2, 61, "20-29 n=1"},
		},
		"exports that are overtaken do not count twice": {
			{10, 2, 50, "2-9 n=50"}, {30, 2, 70, "10-29 n=20"}, {20, 2, 60, ""}, {40, 2, 75, "30-39 n=5"},
		},
	} {
		a := NewAccumulation(opened)
		for i, s := range steps {
			frames, _ := receive(t, a, export("", service("shop"), sumOf(cumulative, "n", value(s.start, s.now, s.value))), s.now)
			if got := strings.Join(lines(frames), ", "); got != s.want {
				t.Errorf("%s: step %d: %q, want %q", name, i+1, got, s.want)
			}
			for _, f := range frames {
				if f.Source != "otlp/shop" || f.Sequence != 0 || f.Closing {
					t.Errorf("%s: frame %+v", name, f)
				}
			}
		}
	}
}

// A series that appears when its metric was exported before began after that export: a
// status that did not occur before is not lost as a base, and is not booked in all the
// time since the sender's start.
func TestNewSeriesOfAKnownMetric(t *testing.T) {
	a := NewAccumulation(opened)
	exported := func(now float64, points ...*metricspb.NumberDataPoint) string {
		frames, _ := receive(t, a, export("", service("shop"), sumOf(cumulative, "n", points...)), now)
		return strings.Join(lines(frames), ", ")
	}
	for i, c := range []struct{ got, want string }{
		{exported(10, value(-50, 10, 900, "code", "200")), ""},
		{exported(20, value(-50, 20, 950, "code", "200"), value(-50, 20, 3, "code", "500"), value(-50, 20, 4, "code", "503")), "10-19 n{code:200}=50, 10-19 n{code:500}=3, 10-19 n{code:503}=4"},
		{exported(30, value(-50, 30, 5, "code", "500")), "20-29 n{code:500}=2"},
		{exported(40, value(-50, 40, 1, "code", "404")), "30-39 n{code:404}=1"},
		{exported(40, value(-50, 40, 2, "code", "405")), "30-39 n{code:405}=2"}, // in a second request of that export
	} {
		if c.got != c.want {
			t.Errorf("%d: %q, want %q", i, c.got, c.want)
		}
	}
}

// Senders with the same name are told apart by their resource, and without one that
// differs by their start; scopes and the order of attributes as expected.
func TestSendersAreToldApart(t *testing.T) {
	a := NewAccumulation(opened)
	got := func(resource []*commonpb.KeyValue, scope string, now float64, points ...*metricspb.NumberDataPoint) string {
		frames, _ := receive(t, a, export(scope, resource, sumOf(cumulative, "n", points...), gaugeOf("g", points...), levelOf("l", points...)), now)
		return strings.Join(lines(frames), ", ")
	}
	one, two := service("shop", stringAttr(attrInstance, "1")), service("shop", stringAttr(attrInstance, "2"))
	for i, c := range []struct{ got, want string }{
		{got(one, "", 10, value(5, 10, 100)), "5-9 n=100, 9-9 g{service.instance.id:1}=100, 9-9 l{service.instance.id:1}=100"},
		{got(two, "", 10, value(5, 10, 3)), "5-9 n=3, 9-9 g{service.instance.id:2}=3, 9-9 l{service.instance.id:2}=3"},
		{got(one, "", 20, value(5, 20, 101)), "10-19 n=1, 19-19 g{service.instance.id:1}=101, 19-19 l{service.instance.id:1}=101"},
		{got(two, "", 20, value(5, 20, 4)), "10-19 n=1, 19-19 g{service.instance.id:2}=4, 19-19 l{service.instance.id:2}=4"},
		// Without an id.
		{got(service("k6"), "k6", 20, value(12, 20, 7)), "12-19 n=7, 19-19 g=7, 19-19 l=7"},
		{got(service("k6"), "k6", 21, value(13, 21, 50)), "13-20 n=50, 20-20 g=50, 20-20 l=50"},
		{got(service("k6"), "k6", 30, value(12, 30, 9)), "20-29 n=2, 29-29 g=9, 29-29 l=9"},
		{got(service("k6"), "k6", 31, value(13, 31, 51)), "21-30 n=1, 30-30 g=51, 30-30 l=51"},
		{got(service("k6"), "other", 31, value(13, 31, 5)), "13-30 n=5, 30-30 g=5, 30-30 l=5"},
		// Attributes in another order are the same series, others are not.
		{got(one, "x", 30, value(25, 30, 1, "a", "1", "b", "2")), "25-29 n{a:1,b:2}=1, 29-29 g{a:1,b:2,service.instance.id:1}=1, 29-29 l{a:1,b:2,service.instance.id:1}=1"},
		{got(one, "x", 40, value(25, 40, 4, "b", "2", "a", "1")), "30-39 n{a:1,b:2}=3, 39-39 g{a:1,b:2,service.instance.id:1}=4, 39-39 l{a:1,b:2,service.instance.id:1}=4"},
	} {
		if c.got != c.want {
			t.Errorf("%d: %q, want %q", i, c.got, c.want)
		}
	}
}

// Increases are booked as they are, whatever their order, and once.
func TestIncreasesCountOnce(t *testing.T) {
	a := NewAccumulation(opened)
	got := func(now float64, points ...*metricspb.NumberDataPoint) string {
		frames, _ := receive(t, a, export("", service("shop"), sumOf(delta, "n", points...)), now)
		return strings.Join(append(lines(frames), refusedText(frames)...), ", ")
	}
	for i, c := range []struct{ got, want string }{
		{got(10, value(-5, 10, 4)), "-5-9 n=4"}, // also from before the run: no window holds it
		{got(11, value(10, 11, 5)), "10-10 n=5"},
		{got(11, value(10, 11, 5)), ""},
		{got(13, value(12, 13, 6)), "12-12 n=6"},
		{got(13, value(11, 12, 7)), "11-11 n=7"},
		{got(14, value(12.4, 13.4, 1), value(13.4, 14, 2)), "12-13 n=1, 13-13 n=2"},
		{got(20, value(nan, 20, 9)), "14-19 n=9"}, // since the one before
		{got(21, value(nan, 21, 9, "new", "1")), ""},
		{got(22, value(nan, 22, 9, "new", "1")), "21-21 n{new:1}=9"},
		{got(23, value(23.5, 23, 9)), "n time=1"},
		{got(24, value(23, 24, -1)), "n value=1"},
		{got(24, value(23, 24, math.NaN()), value(23, 24, math.Inf(1), "a", "b")), "n value=2"},
	} {
		if c.got != c.want {
			t.Errorf("%d: %q, want %q", i, c.got, c.want)
		}
	}
}

// What cannot be recorded is counted in the record, told to the sender, and named once.
func TestRefusals(t *testing.T) {
	summary := &metricspb.Metric{Name: "quantiles", Data: &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: []*metricspb.SummaryDataPoint{{}, {}}}}}
	changes := sumOf(delta, "changes", value(1, 2, 3))
	changes.GetSum().IsMonotonic = false
	stale := gaugeOf("stale", value(1, 2, 3), &metricspb.NumberDataPoint{TimeUnixNano: at(2)})
	stale.GetGauge().DataPoints[0].Flags = noRecordedValue
	data := export(
		"", service("shop"), summary, changes, stale,
		sumOf(metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED, "unspecified", value(1, 2, 3)),
		sumOf(cumulative, "decrease", value(1, 2, -3)),
		sumOf(cumulative, "ahead", value(1, 4000, 3)),
		sumOf(cumulative, "untimed", &metricspb.NumberDataPoint{Value: &metricspb.NumberDataPoint_AsInt{AsInt: 1}}),
		gaugeOf("long", value(1, 2, 3, "a", strings.Repeat("x", maxSeriesText))),
		gaugeOf("wide", value(1, 2, 3, strings.Split(strings.Repeat("x,", 2*maxAttributes+2), ",")[:2*maxAttributes+2]...)),
		sumOf(cumulative, "good", value(1, 2, 5)), sumOf(delta, "uptime", value(1, 2, 1e17)),
	)
	a := NewAccumulation(opened)
	frames, taken := receive(t, a, data, 2.5)
	want := []string{
		"ahead time=1", "changes kind=1", "decrease value=1", "long attributes=1", "quantiles kind=2", "unspecified kind=1", "untimed time=1", "uptime value=1", "wide attributes=1",
	}
	if got := refusedText(frames); !slices.Equal(got, want) {
		t.Errorf("refused %q, want %q", got, want)
	}
	if got := lines(frames); !slices.Equal(got, []string{"1-1 good=5"}) {
		t.Errorf("recorded %q", got)
	}
	var answer colpb.ExportMetricsServiceResponse
	if err := proto.Unmarshal(taken.Response, &answer); err != nil || answer.GetPartialSuccess().GetRejectedDataPoints() != 10 ||
		answer.GetPartialSuccess().GetErrorMessage() != `otlp/shop: metric "ahead": its time differs by more than 1h0m0s from this host's` {
		t.Errorf("answer %v, %v", &answer, err)
	}
	if len(taken.Notices) != len(want) || taken.Notices[4] != `otlp/shop: metric "quantiles": neither sum, gauge nor histogram` {
		t.Errorf("notices %q", taken.Notices)
	}
	if frames, taken = receive(t, a, data, 2.5); len(taken.Notices) > 0 || !slices.Equal(refusedText(frames), want) {
		t.Errorf("again: notices %q, refused %q", taken.Notices, refusedText(frames))
	}
	if _, taken = receive(t, a, export("", service("shop"), sumOf(cumulative, "good", value(1, 3, 6))), 3); len(taken.Response) > 0 {
		t.Errorf("answer %q to a good request", taken.Response)
	}
}

// The number of series is bounded, also of one request, and the others go on.
func TestSeriesAreBounded(t *testing.T) {
	a := NewAccumulation(opened)
	points := func(now float64) (all []*metricspb.NumberDataPoint) {
		for i := range maxForeignSeries + 10 {
			all = append(all, value(1, now, now, "i", fmt.Sprint(i)))
		}
		return all
	}
	for now := 10.0; now <= 20; now += 10 {
		frames, taken := receive(t, a, export("", service("shop"), sumOf(cumulative, "n", points(now)...)), now)
		if got := refusedText(frames); len(lines(frames)) != maxForeignSeries || !slices.Equal(got, []string{"n series=10"}) {
			t.Errorf("%d recorded, refused %q", len(lines(frames)), got)
		}
		if (len(taken.Notices) == 1) != (now == 10) {
			t.Errorf("notices %q", taken.Notices)
		}
	}
	if len(a.series) != maxForeignSeries || len(a.streams) != 1 {
		t.Errorf("%d series, %d streams", len(a.series), len(a.streams))
	}
}

// Neither are requests beyond any reason taken apart, nor many large histograms kept.
func TestRequestsAreBounded(t *testing.T) {
	many := sumOf(delta, "n")
	for range maxPoints + 1 {
		many.GetSum().DataPoints = append(many.GetSum().DataPoints, value(1, 2, 1))
	}
	if _, err := DecodeExport(export("", nil, many)); err == nil || !strings.Contains(err.Error(), "more than 131072 points") {
		t.Errorf("error %v", err)
	}
	counts := make([]uint64, maxBuckets)
	wide := exponentialOf(nil)
	wide.GetExponentialHistogram().DataPoints = nil
	for range maxPointBuckets/maxBuckets + 1 {
		p := &metricspb.ExponentialHistogramDataPoint{TimeUnixNano: at(2), Scale: 7, Positive: buckets(-1<<16, counts...)}
		wide.GetExponentialHistogram().DataPoints = append(wide.GetExponentialHistogram().DataPoints, p)
	}
	if _, err := DecodeExport(export("", nil, wide)); err == nil || !strings.Contains(err.Error(), "more than 4194304 buckets") {
		t.Errorf("error %v", err)
	}
	a, refused := NewAccumulation(opened), 0
	counts = make([]uint64, 100_000)
	counts[0], counts[len(counts)-1] = 1, 1
	for i := range 50 {
		m := exponentialOf(&metricspb.ExponentialHistogramDataPoint{
			Attributes: attributes("i", fmt.Sprint(i)), StartTimeUnixNano: at(1), TimeUnixNano: at(2), Count: 2, Scale: 7, Positive: buckets(-50_000, counts...),
		})
		m.GetExponentialHistogram().AggregationTemporality = cumulative
		frames, _ := receive(t, a, export("", nil, m), 2)
		refused += len(refusedText(frames))
	}
	if want := 50 - maxForeignBuckets/100_000; refused != want || a.buckets > maxForeignBuckets {
		t.Errorf("%d histograms refused, want %d; %d buckets", refused, want, a.buckets)
	}
}

// Senders that change their explicit bounds do not make merged histograms without end;
// those whose bounds are known go on.
func TestExplicitBucketsAreBounded(t *testing.T) {
	a, refused := NewAccumulation(opened), 0
	send := func(name string, end float64, bound float64) {
		h := explicitMetric(&metricspb.HistogramDataPoint{Count: 2, StartTimeUnixNano: at(1), TimeUnixNano: at(end), ExplicitBounds: []float64{bound}, BucketCounts: []uint64{1, 1}})
		h.Name = name
		frames, _ := receive(t, a, export("", nil, h), end)
		refused += len(refusedText(frames))
	}
	send("usual", 2, 250)
	for i := range maxForeignRanges {
		send("changing", 3+float64(i)/10, 1000+float64(i))
	}
	if want := maxForeignRanges - (maxForeignRanges-2)/2; refused != want || len(a.ranges) > maxForeignRanges {
		t.Errorf("%d refused, want %d; %d buckets", refused, want, len(a.ranges))
	}
	before := refused
	if send("usual", 500, 250); refused != before {
		t.Error("a sender whose buckets are known is refused")
	}
}

// A request of which not all frames were recorded may be repeated: nothing is lost, and
// nothing counts twice.
func TestRepeatAfterAFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAccumulation(opened)
		total, sent := 0.0, 0.0
		for i := range rapid.IntRange(1, 6).Draw(t, "exports") {
			now := 10 * float64(i+1)
			sent = 100 * float64(i+1)
			e, err := DecodeExport(export("", service("shop"),
				sumOf(cumulative, "n", value(1, now, sent/2, "a", "1"), value(1, now-0.5, sent/2, "a", "2")), // two frames
				gaugeOf("g", value(1, now-5, 1))))
			if err != nil {
				t.Fatal(err)
			}
			for again := true; again; {
				again = false
				for _, s := range a.Take(e, time.Unix(0, int64(at(now)))).Steps {
					if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
						again = true
						break
					}
					s.Commit()
					for _, p := range s.Frame.Points {
						if p.Kind == Counter && p.Series.Name == "n" {
							total += p.Value
						}
					}
				}
			}
		}
		if total != sent {
			t.Fatalf("%g recorded of %g", total, sent)
		}
	})
}

// Take without Commit changes nothing.
func TestTakeChangesNothing(t *testing.T) {
	a := NewAccumulation(opened)
	data := export("", service("shop"), sumOf(cumulative, "n", value(1, 9, 5), value(1, 10, 6), value(1, 10, 1, "a", "b")))
	e, err := DecodeExport(data)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, int64(at(10)))
	var all []string
	for range 2 {
		var frames []Frame
		for _, s := range a.Take(e, now).Steps {
			frames = append(frames, s.Frame)
		}
		all = append(all, text(frames))
	}
	if all[0] != all[1] || !strings.Contains(all[0], `"n{a:b}" "" counter 1`) || len(a.series) > 0 {
		t.Errorf("first\n%sthen\n%s", all[0], all[1])
	}
}

// k6 counts the samples of a rate by their condition; other senders' metrics of that
// form stay as they are.
func TestRatesOfK6(t *testing.T) {
	for _, c := range []struct{ scope, name, condition, want string }{
		{"k6", "checks.total", "nonzero", "checks.total{name:a}=3, checks.occurred{name:a}=3"},
		{"k6", "checks.total", "zero", "checks.total{name:a}=3"},
		{"k6", "checks.total", "other", "checks.total{condition:other,name:a}=3"},
		{"k6", "checks", "nonzero", "checks{condition:nonzero,name:a}=3"},
		{"shop", "checks.total", "nonzero", "checks.total{condition:nonzero,name:a}=3"},
	} {
		frames, _ := receive(t, NewAccumulation(opened), export(c.scope, nil, sumOf(cumulative, c.name, value(1, 2, 3, "name", "a", "condition", c.condition))), 2)
		if got := strings.ReplaceAll(strings.Join(lines(frames), ", "), "1-1 ", ""); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	frames, _ := receive(t, NewAccumulation(opened), export("k6", nil, sumOf(cumulative, "checks.total", value(1, 2, 3), value(1, 2, 1, "condition", "zero"))), 2)
	if got := strings.Join(lines(frames), ", "); got != "1-1 checks.total=4" {
		t.Errorf("without a condition: %q", got)
	}
}

// The delay of an export is what its newest point says.
func TestDelay(t *testing.T) {
	a := NewAccumulation(opened)
	frames, _ := receive(t, a, export("", service("shop", stringAttr(attrInstance, "i")), gaugeOf("g", value(1, 8, 1), value(1, 9.25, 1, "a", "b"))), 10.5)
	last := frames[len(frames)-1]
	if p := last.Points[0]; p.Series.Key() != "otlp_delay{service.instance.id:i}" || p.Value != 1250 || last.Second != opened.Unix()+10 || p.Kind != Gauge {
		t.Errorf("%+v", last)
	}
}
