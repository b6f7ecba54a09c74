package arrivals

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/plan"
	"go.k6.io/k6/v2/metrics"
)

// Pauses are taken as asked for, up to the profile's limit, and end with the run. Each is
// reported, also one that was interrupted: it is no time of an open request.
func TestPauses(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		limit, run time.Duration
		asked      []time.Duration
		reported   []Pause
		fails      bool // the last one
	}{
		"two":                  {5 * s, 60 * s, []time.Duration{2 * s, 3 * s}, []Pause{{From: 1 * s, To: 3 * s}, {From: 3 * s, To: 6 * s}}, false},
		"together too long":    {5 * s, 60 * s, []time.Duration{2 * s, 3*s + 1}, []Pause{{From: 1 * s, To: 3 * s}}, true},
		"one too long":         {5 * s, 60 * s, []time.Duration{6 * s}, nil, true},
		"none planned":         {0, 60 * s, []time.Duration{1 * s}, nil, true},
		"interrupted":          {5 * s, 4 * s, []time.Duration{2 * s, 3 * s}, []Pause{{From: 1 * s, To: 3 * s}, {From: 3 * s, To: 5 * s}}, false},
		"after an interrupted": {5 * s, 1 * s, []time.Duration{2 * s, 3 * s}, []Pause{{From: 1 * s, To: 2 * s}, {From: 2 * s, To: 2 * s}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.run)
				defer cancel()
				out := make(chan metrics.SampleContainer, 10)
				// The times asked and took are those of the last transaction.
				p := &Pauses{scenario: "shop", vu: "7", t0: time.Now().Add(-s), limit: c.limit, asked: 9 * s, took: 9 * s}
				p.begin()
				var err error
				for _, d := range c.asked {
					if err != nil {
						t.Fatal(err)
					}
					err = p.Take(ctx, d, out)
				}
				if (err != nil) != c.fails {
					t.Errorf("the last pause: %v", err)
				}
				close(out)
				var got, want []Pause
				var took time.Duration
				for sample := range out {
					got = append(got, sample.(Pause))
				}
				for _, pause := range c.reported {
					took += pause.To - pause.From
					pause.Scenario, pause.VU = "shop", "7"
					want = append(want, pause)
				}
				if !slices.Equal(got, want) || p.took != took {
					t.Errorf("%v, together %s; want %v", got, p.took, want)
				}
			})
		})
	}
}

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
		e := newTestExecutor(t, Parameters{Plan: plan.Plan{Think: time.Second}}, 1)
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
