package fleet

import (
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// Stop asks the workers to end their load, with their next heartbeat.
func (c *Coordinator) Stop(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == "" {
		c.stop = why
	}
}

// Ended receives each worker's exit as it ends.
func (c *Coordinator) Ended() <-chan Exit { return c.ended }

// Done is closed when every worker has ended.
func (c *Coordinator) Done() <-chan struct{} { return c.done }

// Exits waits for Done and returns the exits of all workers.
func (c *Coordinator) Exits() []Exit {
	<-c.done
	exits := make([]Exit, c.Workers)
	for i, m := range c.members {
		exits[i] = *m.exit
	}
	return exits
}

// exited notes how a worker ended; only the first time counts.
func (c *Coordinator) exited(number int, e Exit) {
	m := c.members[number]
	if m.exit != nil {
		return
	}
	e.Source = metric.WorkerSource(number)
	c.explain(number, &e)
	m.exit = &e
	c.ended <- e // has room for every worker
	if c.t0.IsZero() && c.early == nil {
		c.early = &EndedError{e}
		close(c.failed)
	}
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

// WorkerEnded notes that the process or pod of a worker has ended, which the worker may
// have had no time to say. It reports whether it was that of a worker that has joined.
func (c *Coordinator) WorkerEnded(e Ended) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isComplete() {
		return false
	}
	for i, m := range c.members {
		if e.Pod != "" && m.hello.Machine.Pod == e.Pod || e.Pod == "" && m.hello.PID == e.PID {
			c.exited(i, Exit{Status: e.Status, Error: e.Output})
			return true
		}
	}
	return false
}

// checkedWithin is how often LoseSilent is called. After a longer pause this process
// was suspended or starved, and could not hear its workers.
const checkedWithin = 5 * time.Second

// LoseSilent gives up the workers that have not been heard from for wire.LostAfter. It
// is called every second.
func (c *Coordinator) LoseSilent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	stalled := c.now().Sub(c.checked) > checkedWithin
	c.checked = c.now()
	if stalled {
		for _, m := range c.members {
			m.heard = c.now()
		}
		return
	}
	for i, m := range c.members {
		switch silent := c.now().Sub(m.heard); {
		case m.closed && silent > closedAfter:
			c.exited(i, Exit{Status: Closed, Error: "its stream was complete before the coordinator was restarted"})
		case silent > wire.LostAfter:
			c.exited(i, Exit{Status: Lost, Error: fmt.Sprintf("not heard from for %s", silent.Round(time.Second))})
		}
	}
}

// silentAfter is how long a worker was not heard from before it is reported: it sends a
// message a second.
const silentAfter = 5 * time.Second

// Silent describes the workers that have not ended and have not been heard from for some
// seconds, by number.
func (c *Coordinator) Silent() map[int]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[int]string{}
	for i, m := range c.members {
		if silent := c.now().Sub(m.heard); m.exit == nil && silent > silentAfter {
			all[i] = fmt.Sprintf("%s on %s has not been heard from for %s; it is lost after %s",
				metric.WorkerSource(i), m.hello.Machine.Name, silent.Round(time.Second), wire.LostAfter)
		}
	}
	return all
}

// HasEnded reports whether a worker has ended, or is lost.
func (c *Coordinator) HasEnded(number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[number].exit != nil
}

// LoseAll gives up the workers that have not ended.
func (c *Coordinator) LoseAll(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.members {
		c.exited(i, Exit{Status: Lost, Error: why})
	}
}
