package arrivals

import (
	"context"
	"sync"
)

// leader is the leader of a leader-follower thread pool: the VU that holds it
// takes the next slot, waits until it is due, and releases the lead before it
// runs. The others wait on a stack, and the last to come is the first to be
// woken: its runtime is still in the processor's caches, where a queue would find
// every VU cold.
type leader struct {
	mu      sync.Mutex
	held    bool
	waiting []chan struct{}
}

// acquire returns once the caller leads, or ctx is done. wake has room for one
// value.
func (l *leader) acquire(ctx context.Context, wake chan struct{}) {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return
	}
	l.waiting = append(l.waiting, wake)
	l.mu.Unlock()
	select {
	case <-wake:
	case <-ctx.Done(): // for all VUs: none needs the lead any more
	}
}

// release hands the lead to the VU that began to wait last; without one the next
// to acquire it finds it free.
func (l *leader) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.waiting) - 1
	if last < 0 {
		l.held = false
		return
	}
	l.waiting[last] <- struct{}{}
	l.waiting = l.waiting[:last]
}
