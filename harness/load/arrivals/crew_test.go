package arrivals

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// Many VUs, one lead: nobody else holds it, and it is never lost.
func TestOneVULeads(t *testing.T) {
	const vus, turns = 20, 2000
	var c crew
	var leaders, taken atomic.Int64
	var all sync.WaitGroup
	for range vus {
		all.Go(func() {
			call := make(chan struct{}, 1)
			for {
				c.lead(t.Context(), call)
				if n := leaders.Add(1); n != 1 {
					t.Errorf("%d VUs lead", n)
				}
				more := taken.Add(1) <= turns
				leaders.Add(-1)
				c.pass()
				if !more {
					return
				}
			}
		})
	}
	all.Wait() // hangs where the lead is lost
	if n := taken.Load(); n != turns+vus {
		t.Errorf("the lead was taken %d times, want %d", n, turns+vus)
	}
}

func TestTheLastToRestIsCalledFirst(t *testing.T) {
	var c crew
	c.lead(t.Context(), nil)
	first, second := make(chan struct{}, 1), make(chan struct{}, 1)
	c.resting = append(c.resting, first, second)
	c.pass()
	if len(second) != 1 || len(first) != 0 || !c.led {
		t.Errorf("first called %d, second %d, led %t", len(first), len(second), c.led)
	}
}

func TestRestEndsWithTheRun(t *testing.T) {
	var c crew
	c.lead(t.Context(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := make(chan struct{}, 1)
	c.lead(ctx, call) // hangs where it waits for the lead alone
	if len(c.resting) != 1 || c.resting[0] != call {
		t.Errorf("a second VU did not rest: %d do", len(c.resting))
	}
}
