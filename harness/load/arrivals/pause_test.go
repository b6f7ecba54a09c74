package arrivals

import (
	"context"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
)

// A transaction that thinks for exactly as long as its profile allows does not fail for
// timers that fire late, which its latency is cleared of.
func TestLateTimersDoNotCountTowardsTheLimit(t *testing.T) {
	out := make(chan metrics.SampleContainer, 10)
	p := &Pauses{t0: time.Now(), limit: 5 * ms}
	for range 2 {
		p.begin()
		for _, d := range []time.Duration{2 * ms, 3 * ms} {
			if err := p.Take(context.Background(), d, out); err != nil {
				t.Fatalf("after pauses of %s: %s", p.took, err)
			}
		}
		var reported time.Duration
		for range 2 {
			pause := (<-out).(Pause)
			reported += pause.To - pause.From
		}
		if p.took != reported || p.took < 5*ms {
			t.Errorf("pauses of %s are reported as %s", p.took, reported)
		}
	}
}

// The VUs of a process are its own: those of another one have the same numbers.
func TestPausesAreOfOneProcess(t *testing.T) {
	var all []*process
	var removals []func()
	for range 2 {
		e := newTestExecutor(t, Parameters{Think: time.Second}, 1)
		e.config.process = &process{}
		p, remove := (&execution{executor: e}).newPauses(1, "1")
		if e.config.process.vus.Pauses(1) != p {
			t.Error("a VU does not find its pauses")
		}
		all, removals = append(all, e.config.process), append(removals, remove)
	}
	if all[0].vus.Pauses(1) == all[1].vus.Pauses(1) {
		t.Error("two processes share the pauses of a VU")
	}
	removals[0]()
	if all[0].vus.Pauses(1) != nil || all[1].vus.Pauses(1) == nil {
		t.Error("not those of the VU that has ended are removed")
	}
}
