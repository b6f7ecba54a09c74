package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

// chart returns the chart whose title has a prefix.
func chart(t *testing.T, c page.Charts, title string) page.Chart {
	t.Helper()
	for _, one := range c.Charts {
		if strings.HasPrefix(one.Title, title) {
			return one
		}
	}
	t.Fatalf("no chart %s", title)
	return page.Chart{}
}

func TestCurves(t *testing.T) {
	c := timeline("fail").Curves
	if c.Step != 1 || len(c.Seconds) != 48 {
		t.Fatalf("%d points, %d s apart", len(c.Seconds), c.Step)
	}
	rate, notCompleted, waits := chart(t, c, "Rate, tps").Curves, chart(t, c, "Transactions not completed").Curves, chart(t, c, "Average active").Curves
	target, begun, completed := rate[0].Values, rate[1].Values, rate[2].Values
	scheduled, ended := 0.0, 0.0
	for i := range c.Seconds {
		scheduled += *begun[i]
		ended += *completed[i]
		for _, curve := range notCompleted {
			ended += *curve.Values[i]
		}
	}
	if scheduled != 750 || ended != 750 {
		t.Errorf("%v scheduled, %v ended, want 750", scheduled, ended)
	}
	// The hold begins at second 16: 20 per second, half a session in commits.
	type at struct{ Target, Scheduled, Commits float64 }
	got := at{*target[20], *begun[20], *waits[1].Values[20]}
	if diff := cmp.Diff(at{20, 20, 0.5}, got); diff != "" {
		t.Errorf("second 20 (-want +got):\n%s", diff)
	}
	bounds := map[string]float64{}
	for _, curve := range chart(t, c, "Transaction latency").Curves {
		if curve.Level != nil {
			bounds[curve.Label] = *curve.Level
		}
	}
	if diff := cmp.Diff(map[string]float64{"p(95)<250": 250, "max<2000": 2000}, bounds); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	if waits[0].Label != "CPU" || *target[14] != 14.38 { // in the ramp from 5 to 20: 5 + 15 * 2.5/4
		t.Errorf("first class %s, target %v", waits[0].Label, *target[14])
	}
}

// The page of a long run is no larger: its points are further apart, and each percentile
// covers all transactions of its step.
func TestCurvesAreBounded(t *testing.T) {
	for _, hold := range []time.Duration{10 * time.Minute, 4 * time.Hour} {
		p := synthetic.Profile()
		p.Flows[0].Load.Hold, p.Flows[0].Load.Target, p.Flows[0].Load.Baseline.Rate = hold, 1, 0.25
		r := synthetic.New(p, 1, synthetic.Healthy).Record()
		c := NewTimeline(r).Curves
		if n := len(c.Seconds); n > maxSteps || n < maxSteps/4 {
			t.Errorf("%s: %d points", hold, n)
		}
		if data, err := json.Marshal(c); err != nil || len(data) > 100_000 {
			t.Errorf("%s: %d bytes, %v", hold, len(data), err)
		}
		t0 := r.Facts.T0.Unix()
		at := len(c.Seconds) / 2
		h := r.Timeline.Hist("transaction_duration", nil, record.Span{From: t0 + c.Seconds[at], To: t0 + c.Seconds[at] + c.Step})
		p95 := chart(t, c, "Transaction latency").Curves[1]
		if want := quantile(h, 0.95); p95.Label != "p95" || *p95.Values[at] != *want {
			t.Errorf("%s: %s %v, want %v", hold, p95.Label, *p95.Values[at], *want)
		}
	}
}

// Missing data is a gap, never 0.
func TestCurvesWithoutData(t *testing.T) {
	if n := len(timeline("invalid").Curves.Charts); n != 3 {
		t.Errorf("%d charts of a run without a database", n)
	}
	r := synthetic.Examples()["pass"]
	r.Timeline = record.NewTimeline()
	c := NewTimeline(r).Curves
	if len(c.Charts) != 3 {
		t.Errorf("%d charts of a run without frames", len(c.Charts))
	}
	for _, one := range c.Charts {
		for _, curve := range one.Curves {
			for _, v := range curve.Values {
				if v != nil && curve.Label != "target" {
					t.Errorf("%s: %v", curve.Label, *v)
				}
			}
		}
	}
	r.Timeline = nil
	if c := NewTimeline(r); len(c.Curves.Seconds) != 0 {
		t.Error("curves without a timeline")
	}
}

// The smallest of many wait classes are one curve, so that the curves add up to all
// sessions.
func TestManyWaitClasses(t *testing.T) {
	const second, all = 20, 30
	r := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy).Record()
	want := 0.0
	points := []metric.Point{metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), 10)}
	for i := range all {
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBSession, "", "class", fmt.Sprint("class ", i), "event", "e"), float64(10*(i+1))))
		want += float64(i + 1)
	}
	r.Timeline = record.NewTimeline()
	r.Timeline.Add(metric.Frame{Source: metric.SourceDatabase, Sequence: 1, Second: r.Facts.T0.Unix() + second, Points: points})
	curves := chart(t, NewTimeline(r).Curves, "Average active").Curves
	got, colors := 0.0, map[string]bool{}
	for _, c := range curves[:maxClasses] {
		got += *c.Values[second]
		colors[c.Color] = true
	}
	if last := curves[maxClasses-1]; last.Label != "all others" || got != want || *last.Values[second] < want/4 || len(colors) < 3 {
		t.Errorf("%d curves, the last %q: %g sessions, want %g", len(curves), last.Label, got, want)
	}
}
