package spec_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/spec"
)

func TestWithRateRefuses(t *testing.T) {
	p := decode(t, "testdata/good/full.json").Profiles["payment"]
	for rate, want := range map[float64]string{
		0:           "profiles.payment.load.target: rate 0 is not above 0",
		-1:          "profiles.payment.load.target: rate -1 is not above 0",
		1e12:        "profiles.payment.load.target: rate 1e+12 is more than 1000000 per second",
		math.Inf(1): "profiles.payment.load.target: rate +Inf is more than 1000000 per second",
		1e-9:        "profiles.payment.load.target: rate 1e-09 schedules no transaction in a hold of 1m0s",
	} {
		if _, err := p.WithRate(rate); err == nil || err.Error() != want {
			t.Errorf("WithRate(%g): error  %v\nwanted %s", rate, err, want)
		}
	}
	if _, err := p.WithRate(math.NaN()); err == nil || err.Error() != "profiles.payment.load.target: rate is not a number" {
		t.Errorf("WithRate(NaN): error %v", err)
	}
	// A stage above the judged ones may exceed what the target does not.
	sale := decode(t, "testdata/good/stages.json").Profiles["flash-sale"]
	sale.Flows[0].Load.Stages[0].Rate = 600
	const want = "profiles.flash-sale.load.stages[0].rate: rate 1.2e+06 is more than 1000000 per second"
	if _, err := sale.WithRate(6e5); err == nil || err.Error() != want {
		t.Errorf("error  %v\nwanted %s", err, want)
	}
}

func TestWithRateScalesStages(t *testing.T) {
	p := decode(t, "testdata/good/stages.json").Profiles["flash-sale"]
	before := slices.Clone(p.Flows[0].Load.Stages)
	got, err := p.WithRate(600)
	if err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for _, s := range got.Flows[0].Load.Stages {
		rates = append(rates, s.Rate)
	}
	if diff := cmp.Diff([]float64{100, 600, 0, 400, 100}, rates); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, p.Flows[0].Load.Stages); diff != "" {
		t.Errorf("the profile itself changed: %s", diff)
	}
}

func TestWithHold(t *testing.T) {
	p := decode(t, "testdata/good/full.json").Profiles["payment"]
	got, err := p.WithHold(10 * time.Minute)
	if err != nil || got.Flows[0].Load.Hold != 10*time.Minute || p.Flows[0].Load.Hold != time.Minute {
		t.Errorf("hold %v, before %v, error %v", got.Flows[0].Load.Hold, p.Flows[0].Load.Hold, err)
	}
	for d, want := range map[time.Duration]string{
		0:                        "profiles.payment.load.hold: hold 0s is less than 10s",
		9 * time.Second:          "profiles.payment.load.hold: hold 9s is less than 10s",
		-time.Minute:             "profiles.payment.load.hold: hold -1m0s is negative",
		60500 * time.Millisecond: "profiles.payment.load.hold: hold 1m0.5s is not a whole number of seconds",
		25 * time.Hour:           "profiles.payment.load.hold: hold 25h0m0s is more than 24h0m0s",
	} {
		if _, err := p.WithHold(d); err == nil || err.Error() != want {
			t.Errorf("error  %v\nwanted %s", err, want)
		}
	}
	sale := decode(t, "testdata/good/stages.json").Profiles["flash-sale"]
	_, err = sale.WithHold(time.Minute)
	var bad *spec.Error
	if !errors.As(err, &bad) || bad.Place != "profiles.flash-sale" || bad.Problem != "hold 1m0s: the profile has stages, not a hold" {
		t.Errorf("error %v", err)
	}
}

// TestWithRateKeepsProportion: whatever the rates, each keeps its ratio to the
// target, and the target is exactly what was asked for.
func TestWithRateKeepsProportion(t *testing.T) {
	phases := decode(t, "testdata/good/full.json").Profiles["payment"]
	stages := decode(t, "testdata/good/stages.json").Profiles["flash-sale"]
	close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) }
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.2, spec.MaxRate)
		p := phases.WithFlows(func(*spec.Flow) {})
		p.Flows[0].Load.Target = rate.Draw(t, "before")
		share := rapid.Float64Range(spec.BaselineShare, 1).Draw(t, "baseline share")
		p.Flows[0].Load.Baseline.Rate = p.Flows[0].Load.Target * share
		target := rate.Draw(t, "target")
		got, err := p.WithRate(target)
		if err != nil {
			t.Fatal(err)
		}
		if got.Flows[0].Load.Target != target || !close(got.Flows[0].Load.Baseline.Rate/target, p.Flows[0].Load.Baseline.Rate/p.Flows[0].Load.Target) {
			t.Fatalf("from %+v to %+v", p.Flows[0].Load, got.Flows[0].Load)
		}

		q := stages.WithFlows(func(f *spec.Flow) { f.Load.Stages = slices.Clone(f.Load.Stages) })
		for i := range q.Flows[0].Load.Stages {
			q.Flows[0].Load.Stages[i].Rate = rate.Draw(t, "stage rate")
		}
		highest := max(q.Flows[0].Load.Stages[1].Rate, q.Flows[0].Load.Stages[3].Rate)
		got, err = q.WithRate(target)
		if err != nil {
			for _, s := range q.Flows[0].Load.Stages { // an unjudged stage may be scaled out of range
				if s.Rate*target/highest > spec.MaxRate*0.999 || s.Rate*target/highest < 0.11 {
					return
				}
			}
			t.Fatal(err)
		}
		for i, s := range got.Flows[0].Load.Stages {
			if !close(s.Rate/target, q.Flows[0].Load.Stages[i].Rate/highest) {
				t.Fatalf("stage %d: from %+v to %+v", i, q.Flows[0].Load, got.Flows[0].Load)
			}
		}
	})
}
