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

// A flow whose busiest minute is not that of all has its rate there, at the scale of the
// profile; one that does not stand out has its mean.
func TestOwnPeak(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	many := series(random, level{1800, 100, false}, level{600, 400, false}, level{1800, 200, false})
	// More bursts than steps are found.
	levels := []level{{2400, 2, false}}
	for _, burst := range []float64{8, 9, 16, 9, 8} {
		levels = append(levels, level{300, 2, false}, level{60, burst, false})
	}
	few := series(random, levels...)
	many = append(many, series(random, level{len(few) - len(many), 200, false})...)
	d := staged(many, few)
	own, most := peakOf(few, 60).rate(), 0.0
	for i, s := range d.Stages {
		if most = max(most, d.Flows[1].Stages[i]); s.Peak && d.Flows[1].Stages[i] > 8 {
			t.Errorf("in the peak the flow has %g/s, want about 4", d.Flows[1].Stages[i])
		}
		if got := d.Flows[0].Stages[i]; !s.Peak && s.Judge && !near(got, 400, 0.05) {
			t.Errorf("the other has %g/s, want 400", got)
		}
	}
	if !near(most, 2*own, 0.001) || most < 28 {
		t.Errorf("the flow has at most %g/s, want %g: %+v", most, 2*own, d)
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
