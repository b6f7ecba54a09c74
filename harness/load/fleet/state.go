package fleet

import (
	"errors"
	"os"
	"time"

	"assay/harness/wire"
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

// errEnded is why a worker is not waited for after a restart: its stream was complete,
// and how its process ended is not known.
var errEnded = errors.New("its stream was complete before the coordinator was restarted")

// Closed is the status of a worker that had ended before its coordinator was restarted.
const Closed = "closed"

// Continue makes a coordinator of a run that has started, whose workers send their next
// messages to it. closed reports whether a worker's stream was complete. logs is the
// folder of their logs.
func Continue(o Options, s State, closed func(number int) bool, logs string) *Coordinator {
	o.Workers = len(s.Members)
	c := NewCoordinator(o)
	c.logs, c.t0, c.waiting = logs, s.T0, o.Workers
	for i, h := range s.Members {
		m := &member{hello: h, used: true, waits: true, heard: c.now()}
		c.members = append(c.members, m)
		if info, err := os.Stat(c.logPath(i)); err == nil {
			m.logged = info.Size()
		}
	}
	c.shares = make([]wire.Assignment, o.Workers)
	for _, done := range []chan struct{}{c.complete, c.assigned, c.started} {
		close(done)
	}
	for i := range c.members {
		if closed(i) {
			c.exited(i, Exit{Status: Closed, Error: errEnded.Error()})
		}
	}
	return c
}
