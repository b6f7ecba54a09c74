package model

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// staged makes the stages of flows.
func staged(flows ...[]uint32) Document {
	p := proposal{Options: Options{Scale: 2, Zone: time.UTC}, perFlow: flows, total: make([]uint32, len(flows[0]))}
	for _, seconds := range flows {
		for i, n := range seconds {
			p.total[i] += n
		}
	}
	d := Document{Flows: make([]Flow, len(flows))}
	p.stages(&d)
	return d
}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// In the step with the peak minute flows have the rates of that minute. One whose own busiest
// minute is in another step, and stands out there, has the rate of that one there; where it
// does not stand out, the mean.
func TestOwnPeak(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	many := series(random, level{600, 400, false}, level{1200, 200, false})
	few := series(random, level{1200, 2, false}, level{60, 16, false}, level{540, 2, false})
	flat := series(random, level{1800, 5, false})
	p := proposal{Options: Options{Scale: 1, Zone: time.UTC}, perFlow: [][]uint32{many, few, flat}, top: peakOf(many, 60)}
	rates := p.stageRates([]span{{0, 600}, {600, 1800}}, 0)
	minute := func(seconds []uint32) float64 {
		return float64(sumOf(seconds[p.top.at:p.top.at+60])) / 60
	}
	for f, want := range [][]float64{{minute(many), 200}, {minute(few), peakOf(few, 60).rate()}, {minute(flat), 5}} {
		if got := rates[f]; got[0] != want[0] || !near(got[1], want[1], 0.02) {
			t.Errorf("flow %d has the rates %v, want %v", f, got, want)
		}
	}
}

// Without a quiet time before the peak, the profile has a baseline that the log has not; what
// comes after the event is left out; every judged stage has a transaction of each flow.
func TestStages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	d := staged(
		series(random, level{600, 300, false}, level{1800, 200, false}, level{600, 20, false}),
		series(random, level{20, 0, false}, level{1, 3, false}, level{2979, 0, false}),
	)
	if len(d.Stages) != 3 || d.Stages[0].Start != "" || d.Stages[0].Judge || !d.Stages[1].Judge || !d.Stages[1].Peak || !d.Stages[2].Judge {
		t.Fatalf("%+v", d.Stages)
	}
	if s := d.Stages; !near(s[0].Rate, s[1].Rate/4, 0.001) || !near(s[1].Rate, 600, 0.03) || !near(s[2].Rate, 400, 0.02) || s[1].For != peakMost || s[2].For != stageMost {
		t.Errorf("%+v", d.Stages)
	}
	for i, s := range d.Stages[1:] {
		if rate := d.Flows[1].Stages[i+1]; rate*float64(s.For) < 1 {
			t.Errorf("stage %d has %g/s of a flow", i+1, rate)
		}
	}
}
