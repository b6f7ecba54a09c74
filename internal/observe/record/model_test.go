package record

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
)

// model is a naive timeline: it keeps every frame, and scans them all on each read.
type model struct{ frames []metric.Frame }

func (m *model) Add(f metric.Frame) {
	resent := func(o metric.Frame) bool { return f.Sequence > 0 && o.Source == f.Source && o.Sequence == f.Sequence }
	if !slices.ContainsFunc(m.frames, resent) {
		m.frames = append(m.frames, f)
	}
}

// each visits the matching points of one source, or of all sources ("").
func (m *model) each(source, name string, kind metric.Kind, selector []metric.Label, span Span, visit func(metric.Frame, metric.Point)) {
	for _, f := range m.frames {
		for _, p := range f.Points {
			if !f.Closing && (source == "" || f.Source == source) && f.Second >= span.From && f.Second < span.To &&
				p.Series.Name == name && p.Kind == kind && p.Series.Matches(selector) {
				visit(f, p)
			}
		}
	}
}

func (m *model) sum(source, name string, selector []metric.Label, span Span) (total float64, found bool) {
	m.each(source, name, metric.Counter, selector, span, func(_ metric.Frame, p metric.Point) { total, found = total+p.Value, true })
	return total, found
}

func (m *model) hist(source, name string, selector []metric.Label, span Span) *metric.Hist {
	h := &metric.Hist{}
	m.each(source, name, metric.Histogram, selector, span, func(_ metric.Frame, p metric.Point) { h.Merge(p.Hist) })
	return h
}

// gauge adds up a gauge in one second.
func (m *model) gauge(source, name string, selector []metric.Label, second int64) (total float64, found bool) {
	for _, v := range m.gauges(source, name, selector, second) {
		total, found = total+v, true
	}
	return total, found
}

// largest is the largest value of a gauge within a span.
func (m *model) largest(name string, selector []metric.Label, span Span) (largest float64, found bool) {
	for _, f := range m.frames {
		if f.Second < span.From || f.Second >= span.To {
			continue
		}
		for _, v := range m.gauges("", name, selector, f.Second) {
			if !found || v > largest {
				largest, found = v, true
			}
		}
	}
	return largest, found
}

// gauges are the newest values of a gauge in one second, by source and series.
func (m *model) gauges(source, name string, selector []metric.Label, second int64) map[string]float64 {
	newest := map[string]metric.Frame{}
	value := map[string]float64{}
	m.each(source, name, metric.Gauge, selector, Span{second, second + 1}, func(f metric.Frame, p metric.Point) {
		key := f.Source + " " + p.Series.Key()
		if old, ok := newest[key]; !ok || f.Sequence >= old.Sequence {
			newest[key], value[key] = f, p.Value
		}
	})
	return value
}

var (
	someNames    = []string{"a", "b"}
	someSources  = []string{"worker/10", "worker/9", "host"}
	someLabels   = []string{"", "x", "y"}
	someSeconds  = rapid.OneOf(rapid.Int64Range(100, 112), rapid.SampledFrom([]int64{0, 2_000_000_000}))
	someSelector = rapid.Custom(func(t *rapid.T) []metric.Label {
		return rapid.SampledFrom([][]metric.Label{nil, {{Key: "l", Value: "x"}}, {{Key: "l", Value: ""}}}).Draw(t, "selector")
	})
)

// someFrames have the sequences of their sources; some are resent. value generates the
// values of counters and gauges.
func someFrames(t *rapid.T, value *rapid.Generator[float64]) (all []metric.Frame) {
	sequences := map[string]uint64{}
	for range rapid.IntRange(0, 20).Draw(t, "frames") {
		if len(all) > 0 && rapid.IntRange(0, 5).Draw(t, "resend") == 0 {
			all = append(all, rapid.SampledFrom(all).Draw(t, "again"))
			continue
		}
		f := metric.Frame{Source: rapid.SampledFrom(someSources).Draw(t, "source"), Second: someSeconds.Draw(t, "second")}
		sequences[f.Source]++
		f.Sequence = sequences[f.Source]
		for _, name := range someNames {
			s := metric.NewSeries(name, "", "l", rapid.SampledFrom(someLabels).Draw(t, "label"))
			h := &metric.Hist{}
			for range rapid.IntRange(0, 3).Draw(t, "observations") {
				h.Record(value.Draw(t, "observed"), uint64(rapid.IntRange(1, 500).Draw(t, "times")))
			}
			f.Points = append(f.Points, metric.CounterPoint(s, value.Draw(t, "count")),
				metric.GaugePoint(s, value.Draw(t, "gauge")), metric.HistPoint(s, h))
		}
		all = append(all, f)
	}
	return all
}

func histText(h *metric.Hist) string {
	text := fmt.Sprint(h.Count(), h.Sum(), h.Scale())
	for q := 0.0; q <= 1; q += 0.125 {
		v, ok := h.Quantile(q)
		text += fmt.Sprint(" ", v, ok)
	}
	for _, limit := range []float64{0.5, 1, 3, 100, 1e5} {
		lo, hi := h.AtLeast(limit)
		text += fmt.Sprint(" ", lo, hi)
	}
	return text
}

// Every method returns what the model returns, also between two frames. The values are
// integers, so that their sums are exact.
func TestTimelineMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Map(rapid.IntRange(0, 2000), func(i int) float64 { return float64(i) })
		timeline, model := NewTimeline(), &model{}
		for _, f := range someFrames(t, whole) {
			timeline.Add(f)
			model.Add(f)
			if rapid.IntRange(0, 9).Draw(t, "ask") == 0 {
				compareWithModel(t, timeline, model)
			}
		}
		compareWithModel(t, timeline, model)
	})
}

func compareWithModel(t *rapid.T, timeline *Timeline, model *model) {
	span := rapid.SampledFrom([]Span{All, {100, 106}, {103, 104}, {105, 103}, {0, 2_000_000_000}}).Draw(t, "span")
	selector := someSelector.Draw(t, "selector")
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s of %v in %v: %s", what, selector, span, diff)
		}
	}
	type number struct {
		V     float64
		Found bool
	}
	of := func(v float64, found bool) number { return number{v, found} }
	for _, name := range append(someNames, "none") {
		same("sum", of(timeline.Sum(name, selector, span)), of(model.sum("", name, selector, span)))
		same("histogram", histText(timeline.Hist(name, selector, span)), histText(model.hist("", name, selector, span)))
		same("gauge sum", of(timeline.GaugeSum(name, selector, 103)), of(model.gauge("", name, selector, 103)))
		same("largest gauge", of(timeline.MaxGauge(name, selector, span)), of(model.largest(name, selector, span)))
		counts := timeline.Counts(name, selector, Span{100, 112})
		for i, n := range counts {
			second := Span{100 + int64(i), 101 + int64(i)}
			want, found := model.sum("", name, selector, second)
			same("count", n, want)
			if by, ok := timeline.BySecond(name, selector)[second.From]; ok != found || by != want {
				t.Fatalf("by second %v: %g, %t", second, by, ok)
			}
		}
		for _, source := range append(someSources, "nobody") {
			same("sum of "+source, of(timeline.SumOf(source, name, selector, span)), of(model.sum(source, name, selector, span)))
			same("count of "+source, timeline.CountOf(source, name), model.hist(source, name, nil, All).Count())
			for i, n := range timeline.CountsOf([]string{source, "worker/none"}, name, selector, Span{100, 112}) {
				want, _ := model.sum(source, name, selector, Span{100 + int64(i), 101 + int64(i)})
				same("counts of "+source, n, want)
			}
			values, ok := timeline.Gauge(name, selector, source, Span{100, 112})
			for i := range values {
				same("gauge of "+source, of(values[i], ok[i]), of(model.gauge(source, name, selector, 100+int64(i))))
			}
		}
	}
	var seconds []int64
	for _, f := range model.frames {
		seconds = append(seconds, f.Second)
	}
	slices.Sort(seconds)
	same("seconds", timeline.Seconds(), slices.Compact(seconds))
}

// The order of frames does not change a bit of any result, so that the same frames
// always give the same certificate.
func TestTimelineIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := someFrames(t, rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-3, 1e6)))
		shuffled := slices.Clone(frames)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		read := func(frames []metric.Frame) (text string) {
			timeline := NewTimeline()
			for _, f := range frames {
				timeline.Add(f)
			}
			for _, name := range someNames {
				sum, _ := timeline.Sum(name, nil, All)
				gauge, _ := timeline.GaugeSum(name, nil, 103)
				text += fmt.Sprintln(sum, gauge, histText(timeline.Hist(name, nil, All)), timeline.Counts(name, nil, Span{100, 112}))
			}
			return text
		}
		if a, b := read(frames), read(shuffled); a != b {
			t.Fatalf("in one order\n%sin the other\n%s", a, b)
		}
	})
}

// A caller may reuse the memory of a frame's points, as a decoder does.
func TestTimelineCopiesPoints(t *testing.T) {
	h := &metric.Hist{}
	h.Record(5, 1)
	s := metric.NewSeries("h", "ms")
	points := []metric.Point{metric.HistPoint(s, h)}
	timeline := NewTimeline()
	timeline.Add(metric.Frame{Source: "w", Sequence: 1, Second: 1, Points: points})
	timeline.Add(metric.Frame{Source: "w", Sequence: 2, Second: 1, Closing: true, Points: points})
	h.Record(7, 1)
	points[0] = metric.CounterPoint(s, 3)
	if n := timeline.Hist("h", nil, All).Count(); n != 1 {
		t.Errorf("%d observations, want 1", n)
	}
	if p := timeline.Sources()[0].Totals[0]; p.Kind != metric.Histogram || p.Hist.Count() != 1 {
		t.Errorf("total is %+v", p)
	}
}
