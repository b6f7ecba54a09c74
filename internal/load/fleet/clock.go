package fleet

import "time"

// steadyClock is the wall clock of one instant, which goes on by the monotonic clock: that
// somebody sets the coordinator's clock under load does not look like a drift of all
// workers. The zero value is the wall clock itself.
type steadyClock struct {
	wall  time.Time // of the instant, without a monotonic reading
	since time.Time // the same instant, with it
}

func newSteadyClock(now time.Time) steadyClock { return steadyClock{wall: now.Round(0), since: now} }

// read is the clock's time at an instant.
func (c steadyClock) read(now time.Time) time.Time {
	if c.since.IsZero() {
		return now
	}
	return c.wall.Add(now.Sub(c.since))
}
