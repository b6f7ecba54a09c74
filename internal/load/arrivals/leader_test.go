package arrivals

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// Exactly one of many VUs leads at any time, and the lead is never lost.
func TestOneVULeads(t *testing.T) {
	const vus, turns = 20, 2000
	var l leader
	var leaders, taken atomic.Int64
	var all sync.WaitGroup
	for range vus {
		all.Go(func() {
			wake := make(chan struct{}, 1)
			for {
				l.acquire(t.Context(), wake)
				if n := leaders.Add(1); n != 1 {
					t.Errorf("%d VUs lead", n)
				}
				more := taken.Add(1) <= turns
				leaders.Add(-1)
				l.release()
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

func TestLastToWaitIsWokenFirst(t *testing.T) {
	var l leader
	l.acquire(t.Context(), nil)
	first, second := make(chan struct{}, 1), make(chan struct{}, 1)
	l.waiting = append(l.waiting, first, second)
	l.release()
	if len(second) != 1 || len(first) != 0 || !l.held {
		t.Errorf("first woken %d, second %d, held %t", len(first), len(second), l.held)
	}
}

func TestWaitEndsWithTheRun(t *testing.T) {
	var l leader
	l.acquire(t.Context(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wake := make(chan struct{}, 1)
	l.acquire(ctx, wake) // hangs where it waits for the lead only
	if len(l.waiting) != 1 || l.waiting[0] != wake {
		t.Errorf("a second VU did not wait: %d do", len(l.waiting))
	}
}
