package arrivals

import (
	"context"
	"sync"
)

// leader is the leader of a leader-follower thread pool: the VU that holds it
// takes the next slot, waits until it is due, and releases the lead before it
// runs. The others wait on a stack: the last to wait is the first to be woken, while
// its runtime is still in the processor's caches. With a queue every VU would be cold.
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
	case <-ctx.Done(): // the run has ended: no VU needs the lead any more
	}
}

// release passes the lead to the VU that began to wait last, or frees it if none
// waits.
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
