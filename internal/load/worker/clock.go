package worker

import (
	"sync"
	"time"

	"assay.dev/assay/internal/wire"
)

// exchange is one exchange of timestamps with the coordinator (RFC 5905, section 8).
type exchange struct {
	sent     time.Time // T1, by the worker's clock
	received time.Time // T2, by the coordinator's
	answered time.Time // T3, by the coordinator's
	returned time.Time // T4, by the worker's
}

// offset is by how much the worker's clock is ahead, ((T1 - T2) + (T4 - T3)) / 2. It is
// known to within half of the round trip.
func (e exchange) offset() time.Duration {
	return (e.sent.Sub(e.received) + e.returned.Sub(e.answered)) / 2
}

// roundTrip is the time on the network, (T4 - T1) - (T3 - T2).
func (e exchange) roundTrip() time.Duration {
	return e.returned.Sub(e.sent) - e.answered.Sub(e.received)
}

// compared is how many exchanges are compared: of the last ones the one with the shortest
// round trip counts, which waited least (RFC 5905, section 10: the clock filter has 8
// stages).
const compared = 8

// clock is the worker's clock compared with the coordinator's.
type clock struct {
	now func() time.Time // does not follow changes of the machine's clock

	mu      sync.Mutex
	last    []exchange // at most compared
	started bool
	atStart time.Duration // offset that the start signal was converted by
}

// newClock makes a clock that goes on from the present time, whatever happens to the
// machine's clock.
func newClock() *clock {
	base := time.Now()
	return &clock{now: func() time.Time { return base.Round(0).Add(time.Since(base)) }}
}

func (c *clock) add(e exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.last) == compared {
		c.last = c.last[1:]
	}
	c.last = append(c.last, e)
}

// best is the exchange with the shortest round trip; false: there was none.
func (c *clock) best() (best exchange, found bool) {
	for _, e := range c.last {
		if !found || e.roundTrip() < best.roundTrip() {
			best, found = e, true
		}
	}
	return best, found
}

// offset is by how much this clock is ahead; false: they have not been compared.
func (c *clock) offset() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	best, found := c.best()
	return best.offset(), found
}

// until is how long it is until an instant by the coordinator's clock. The offset that
// it uses is the one from which later drift counts.
func (c *clock) until(t0 time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if best, found := c.best(); found && !c.started {
		c.started, c.atStart = true, best.offset()
	}
	return t0.Add(c.atStart).Sub(c.now())
}

// state is the clock as it is reported; nil: nothing is known.
func (c *clock) state() *wire.Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	best, found := c.best()
	if !found {
		return nil
	}
	s := &wire.Clock{OffsetMs: milliseconds(best.offset()), RoundTripMs: milliseconds(best.roundTrip())}
	if c.started {
		s.DriftMs = milliseconds(best.offset() - c.atStart)
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
