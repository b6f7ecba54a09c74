package plan_test

import (
	"math"
	"testing"
	"time"

	"go.k6.io/k6/v2/lib"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// loads draws loads that spec.Decode accepts.
var loads = rapid.Custom(func(t *rapid.T) spec.Load {
	seconds := func(name string, least int) time.Duration {
		return time.Duration(rapid.IntRange(least, 1000).Draw(t, name)) * second
	}
	rate := rapid.Float64Range(0.1, 1e5)
	if rapid.Bool().Draw(t, "phases") {
		target := rate.Draw(t, "target")
		return spec.Load{
			Target: target, Warmup: seconds("warmup", 0), Ramp: seconds("ramp", 0), Hold: seconds("hold", 10), Cooldown: seconds("cooldown", 0),
			Baseline: spec.Baseline{Rate: target * rapid.Float64Range(0.2, 1).Draw(t, "share"), For: seconds("baseline", 1)},
		}
	}
	stage := rapid.Custom(func(t *rapid.T) spec.Stage {
		s := spec.Stage{
			Rate: rate.Draw(t, "rate"), Judge: rapid.Bool().Draw(t, "judge"),
			For:  time.Duration(rapid.IntRange(10, 1000).Draw(t, "for")) * second,
			Ramp: time.Duration(rapid.IntRange(0, 100).Draw(t, "ramp")) * second,
		}
		if !s.Judge && rapid.Bool().Draw(t, "pause") {
			s.Rate = 0
		}
		return s
	})
	stages := rapid.SliceOfN(stage, 0, 8).Draw(t, "stages")
	return spec.Load{Stages: append(stages, spec.Stage{Rate: rate.Draw(t, "last"), For: seconds("for", 10), Judge: true})}
})

// area is the integral of the rate over a stage: its arrivals before rounding.
func area(s plan.Stage) float64 { return (s.From + s.To) / 2 * s.Duration.Seconds() }

func TestPlansAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := loads.Draw(t, "load")
		workers := rapid.IntRange(1, 40).Draw(t, "workers")
		p, err := plan.New(spec.Profile{Name: "p", Flows: []spec.Flow{{Load: load, Timeout: 10 * time.Millisecond}}}, workers, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkStages(t, p)
		checkWindows(t, p, load)
		checkFleet(t, p, workers)
	})
}

// checkStages: stages are contiguous, never negative, and within one arrival of their
// area; the whole schedule has the rounded total area.
func checkStages(t *rapid.T, p plan.Plan) {
	var end time.Duration
	total, arrivals := 0.0, int64(0)
	for i, s := range p.Stages {
		if s.Start != end || s.Duration <= 0 || s.From < 0 || s.To < 0 {
			t.Fatalf("stage %d does not follow %v: %+v", i, end, s)
		}
		if s.Arrivals < 0 || math.Abs(float64(s.Arrivals)-area(s)) > 1+1e-6 {
			t.Fatalf("stage %d has %d arrivals, its area is %g", i, s.Arrivals, area(s))
		}
		end = s.End()
		total += area(s)
		arrivals += s.Arrivals
	}
	if p.Duration() != end || p.Arrivals() != arrivals || math.Abs(float64(arrivals)-total) > 0.5+1e-6 {
		t.Fatalf("%d arrivals in %v, the area is %g until %v", p.Arrivals(), p.Duration(), total, end)
	}
}

// checkWindows: each window is exactly one stage of whole seconds at one rate, and
// the target is the highest judged rate.
func checkWindows(t *rapid.T, p plan.Plan, load spec.Load) {
	target, judged := 0.0, int64(0)
	windows := p.Judged
	if p.Baseline != nil {
		windows = append(windows[:len(windows):len(windows)], *p.Baseline)
	}
	for i, w := range windows {
		found := false
		for _, s := range p.Stages {
			if s.Start != w.Start || s.End() != w.End {
				continue
			}
			found = s.From == s.To && s.Duration == w.Duration()
			if i < len(p.Judged) {
				target, judged = max(target, s.To), judged+s.Arrivals
			}
		}
		if !found || w.Start%second != 0 || w.End%second != 0 {
			t.Fatalf("window %v is no stage at one rate", w)
		}
	}
	if target != p.Target || judged != p.JudgedArrivals() || judged == 0 {
		t.Fatalf("target %g and %d judged arrivals, wanted %g and %d", p.Target, p.JudgedArrivals(), target, judged)
	}
	if load.Target > 0 && (p.Baseline == nil || len(p.Judged) != 1 || p.Judged[0].Duration() != load.Hold) {
		t.Fatalf("baseline %v, judged %v", p.Baseline, p.Judged)
	}
}

// checkFleet: k6 itself must read the segments, and they must fill its
// sequence.
func checkFleet(t *rapid.T, p plan.Plan, workers int) {
	if len(p.Workers) != workers {
		t.Fatalf("%d workers, wanted %d", len(p.Workers), workers)
	}
	var segments lib.ExecutionSegmentSequence
	for _, w := range p.Workers {
		segment, err := lib.NewExecutionSegmentFromString(w.Segment)
		if err != nil {
			t.Fatal(err)
		}
		segments = append(segments, segment)
		if w.VUs < 10 || w.VUs > plan.MaxVUs {
			t.Fatalf("%d VUs", w.VUs)
		}
	}
	if workers == 1 {
		return
	}
	sequence, err := lib.NewExecutionSegmentSequenceFromString(p.Sequence)
	if err != nil {
		t.Fatal(err)
	}
	if sequence.String() != segments.String() {
		t.Fatalf("sequence %s, segments %s", sequence, segments)
	}
}

func TestVUsGrowWithTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.Int64Range(1, int64(10*time.Minute)).Draw(t, "timeout"))
		var slos []spec.SLO
		for range rapid.IntRange(0, 3).Draw(t, "SLOs") {
			slos = append(slos, percentile("transaction_duration", rapid.Float64Range(0.01, 0.9999).Draw(t, "quantile"), rapid.Float64Range(0.001, 8.64e7).Draw(t, "bound")))
		}
		rate := rapid.Float64Range(0, 1e6)
		a, b := rate.Draw(t, "a"), rate.Draw(t, "b")
		low, high := plan.VUs(min(a, b), slos, timeout, 0), plan.VUs(max(a, b), slos, timeout, 0)
		if low > high || low < 10 {
			t.Fatalf("%d VUs at %g/s, %d at %g/s", low, min(a, b), high, max(a, b))
		}
		// A further SLO never asks for more.
		if with := plan.VUs(a, append(slos, percentile("transaction_duration", 0.95, 250)), timeout, 0); with > plan.VUs(a, slos, timeout, 0) {
			t.Fatalf("%d VUs with a further SLO", with)
		}
	})
}
