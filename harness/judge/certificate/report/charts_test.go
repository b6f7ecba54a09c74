package report

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/record"
)

func TestCurvesAreTheRun(t *testing.T) {
	c := charts("fail")
	if c.Step != 1 || len(c.Seconds) != 48 {
		t.Fatalf("%d points, %d s apart", len(c.Seconds), c.Step)
	}
	scheduled, ended := 0.0, 0.0
	for i := range c.Seconds {
		scheduled += *c.Scheduled[i]
		ended += *c.Completed[i] + *c.Failed[i] + *c.TimedOut[i] + *c.Dropped[i]
	}
	if scheduled != 750 || ended != 750 {
		t.Errorf("%v scheduled, %v ended, want 750", scheduled, ended)
	}
	// The hold begins at second 16: 20 a second, half a session in commits.
	type at struct{ Target, Scheduled, Commits float64 }
	got := at{*c.Target[20], *c.Scheduled[20], *c.Waits[1].Sessions[20]}
	if diff := cmp.Diff(at{20, 20, 0.5}, got); diff != "" {
		t.Errorf("second 20 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bound{{"p(95)<250", 250}, {"max<2000", 2000}}, c.Bounds); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	if c.Waits[0].Class != "CPU" || *c.Target[14] != 14.38 { // in the ramp from 5 to 20: 5 + 15 * 2.5/4
		t.Errorf("first class %s, target %v", c.Waits[0].Class, *c.Target[14])
	}
}

// A long run's page is no larger: its points are further apart, and the
// percentiles are of all transactions between them.
func TestCurvesAreBounded(t *testing.T) {
	for _, hold := range []time.Duration{10 * time.Minute, 4 * time.Hour} {
		p := synthetic.Profile()
		p.Load.Hold, p.Load.Target, p.Load.Baseline.Rate = hold, 1, 0.25
		r := synthetic.New(p, 1, synthetic.Healthy).Record()
		c := NewCharts(r)
		if n := len(c.Seconds); n > mostSteps || n < mostSteps/4 {
			t.Errorf("%s: %d points", hold, n)
		}
		if data, err := json.Marshal(c); err != nil || len(data) > 100_000 {
			t.Errorf("%s: %d bytes, %v", hold, len(data), err)
		}
		t0 := r.Facts.T0.Unix()
		at := len(c.Seconds) / 2
		h := r.Timeline.Hist("transaction_duration", nil, record.Span{From: t0 + c.Seconds[at], To: t0 + c.Seconds[at] + c.Step})
		if want := quantile(h, 0.95); *c.P95[at] != *want {
			t.Errorf("%s: p95 %v, want %v", hold, *c.P95[at], *want)
		}
	}
}

// What is not known is no point, and never 0.
func TestCurvesWithoutData(t *testing.T) {
	c := charts("invalid") // no database, and a worker that was killed
	r := synthetic.Cases()["pass"]
	r.Timeline = record.NewTimeline()
	for name, c := range map[string]Charts{"no frames": NewCharts(r), "no database": {Waits: c.Waits}} {
		for _, values := range [][]*float64{c.Completed, c.Failed, c.P99} {
			for _, v := range values {
				if v != nil {
					t.Errorf("%s: %v", name, *v)
				}
			}
		}
		if len(c.Waits) != 0 {
			t.Errorf("%s: waits", name)
		}
	}
	r.Timeline = nil
	if c := NewCharts(r); len(c.Seconds) != 0 {
		t.Error("curves of nothing")
	}
}
