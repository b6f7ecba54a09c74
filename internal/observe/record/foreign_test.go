package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
)

// foreignFrames are frames of foreign senders, with intervals of several lengths.
func foreignFrames(t *rapid.T) (all []metric.Frame) {
	for range rapid.IntRange(0, 20).Draw(t, "frames") {
		f := metric.Frame{
			Source: rapid.SampledFrom([]string{"otlp/k6", "otlp/shop"}).Draw(t, "source"),
			Second: rapid.Int64Range(100, 130).Draw(t, "second"), Length: rapid.SampledFrom([]int64{0, 1, 2, 11}).Draw(t, "length"),
		}
		unit := rapid.SampledFrom([]string{"ms", "s"}).Draw(t, "unit")
		for _, name := range someNames {
			s := metric.NewSeries(name, unit, "l", rapid.SampledFrom(someLabels).Draw(t, "label"))
			h := &metric.Hist{}
			h.Record(float64(rapid.IntRange(0, 2000).Draw(t, "observed")), uint64(rapid.IntRange(0, 5).Draw(t, "times")))
			f.Points = append(f.Points, metric.CounterPoint(s, float64(rapid.IntRange(0, 9).Draw(t, "count"))), metric.HistPoint(s, h))
		}
		all = append(all, f)
	}
	return all
}

// sums adds up points by everything that tells them apart.
func sums(all []Foreign) string {
	total := map[string]string{}
	hists := map[string]*metric.Hist{}
	values := map[string]float64{}
	for _, f := range all {
		key := fmt.Sprintln(f.Source, f.Series.Key(), f.Series.Unit, f.Kind, f.Over)
		if hists[key] == nil {
			hists[key] = &metric.Hist{}
		}
		f.Merge(hists[key])
		values[key] += f.Value
		total[key] = fmt.Sprint(values[key], " ", histText(hists[key]))
	}
	var lines []string
	for key, text := range total {
		lines = append(lines, key+text)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Foreign lists what touches a span, and no other method sees it.
func TestForeignMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeline := NewTimeline()
		frames := foreignFrames(t)
		own := someFrames(t, rapid.Just(3.0))
		alone := NewTimeline()
		for _, f := range own {
			timeline.Add(f)
			alone.Add(f)
		}
		for _, f := range frames {
			timeline.Add(f)
		}
		selector := someSelector.Draw(t, "selector")
		span := rapid.SampledFrom([]Span{All, {100, 106}, {103, 104}, {110, 125}}).Draw(t, "span")
		for _, name := range append(someNames, "none") {
			var want []Foreign
			for _, f := range frames {
				over := Span{f.First(), f.Second + 1}
				if over.From >= span.To || over.To <= span.From {
					continue
				}
				for _, p := range f.Points {
					if p.Series.Name != name || !p.Series.Matches(selector) {
						continue
					}
					one := Foreign{Source: f.Source, Series: p.Series, Kind: p.Kind, Over: over, Value: p.Value}
					if p.Hist != nil {
						packed := p.Hist.Pack()
						one.hist = &packed
					}
					want = append(want, one)
				}
			}
			if got := sums(timeline.Foreign(name, selector, span)); got != sums(want) {
				t.Fatalf("got\n%s\nwant\n%s", got, sums(want))
			}
			if got, want := fmt.Sprint(timeline.Sum(name, selector, span)), fmt.Sprint(alone.Sum(name, selector, span)); got != want {
				t.Fatalf("sum %s, want %s", got, want)
			}
			if got, want := histText(timeline.Hist(name, selector, span)), histText(alone.Hist(name, selector, span)); got != want {
				t.Fatalf("histogram %s, want %s", got, want)
			}
			if got, want := len(timeline.Series(name)), len(alone.Series(name)); got != want {
				t.Fatalf("%d series, want %d", got, want)
			}
		}
		if !slices.Equal(timeline.Seconds(), alone.Seconds()) {
			t.Fatalf("seconds %v, want %v", timeline.Seconds(), alone.Seconds())
		}
	})
}

func TestForeignWithin(t *testing.T) {
	f := Foreign{Over: Span{10, 21}}
	for span, want := range map[Span]bool{{10, 21}: true, {0, 100}: true, {11, 21}: false, {10, 20}: false, {20, 30}: false} {
		if f.Within(span) != want {
			t.Errorf("within %v: %t", span, !want)
		}
	}
}
