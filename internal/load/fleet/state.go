package fleet

import (
	"time"

	"assay.dev/assay/internal/wire"
)

// State is what a coordinator that was killed under load must know to go on: it holds no
// secret, as a worker's credential is signed with the run's token.
type State struct {
	T0      time.Time    `json:"t0"`
	Members []wire.Hello `json:"members"` // by number
}

// State is that of a run that has started.
func (c *Coordinator) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{T0: c.t0}
	for _, m := range c.members {
		s.Members = append(s.Members, m.hello)
	}
	return s
}

// Closed is the status of a worker whose stream was complete before its coordinator was
// restarted, and that has not said since how it ended.
const Closed = "closed"

// closedAfter is for how long such a worker must not have been heard from: one that has
// not ended sends a message a second.
const closedAfter = 5 * time.Second

// Continue makes a coordinator of a run that has started, whose workers send their next
// messages to it. closed reports whether a worker's stream was complete. logs is the
// folder of their logs.
func Continue(o Options, s State, closed func(number int) bool, logs string) *Coordinator {
	o.Workers = len(s.Members)
	c := NewCoordinator(o)
	c.logs, c.t0, c.steady, c.waiting = logs, s.T0, newSteadyClock(c.now()), o.Workers
	for i, h := range s.Members {
		m := &member{hello: h, used: true, waits: true, closed: closed(i), heard: c.now()}
		c.members = append(c.members, m)
		m.log.received = -1
	}
	c.shares = make([]wire.Assignment, o.Workers)
	for _, done := range []chan struct{}{c.complete, c.assigned, c.started} {
		close(done)
	}
	return c
}

// steadyClock is the wall clock of one instant, which goes on by the monotonic clock: that
// somebody sets the coordinator's clock under load does not look like a drift of all
// workers. The zero value is the wall clock itself.
type steadyClock struct {
	wall  time.Time // wall time of the instant, without a monotonic reading
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
