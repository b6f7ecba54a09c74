package arrivals

import (
	"context"
	"sync"
)

// crew passes one lead among VUs: who holds it takes the next slot, waits until
// it is due, and passes the lead on before running. The others rest on a stack,
// and the one that came last is called first: its runtime is still in the
// processor's caches, where going round all VUs would find every one cold.
type crew struct {
	mu      sync.Mutex
	led     bool
	resting []chan struct{}
}

// lead returns once the caller holds the lead, or ctx is done.
func (c *crew) lead(ctx context.Context, call chan struct{}) {
	c.mu.Lock()
	if !c.led {
		c.led = true
		c.mu.Unlock()
		return
	}
	c.resting = append(c.resting, call)
	c.mu.Unlock()
	select {
	case <-call:
	case <-ctx.Done(): // of all VUs: nobody needs the lead any more
	}
}

// pass hands the lead to the VU that came to rest last; with none there the
// next to finish finds it free.
func (c *crew) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.resting) - 1
	if last < 0 {
		c.led = false
		return
	}
	c.resting[last] <- struct{}{} // has room for one
	c.resting = c.resting[:last]
}
