package run

import (
	"context"
	"errors"
	"fmt"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/record"
)

// collection is the collectors of a run.
type collection struct {
	cancel      context.CancelFunc
	stopWaiting context.CancelFunc // ends the wait for late data
	running     crash.Group
	members     []*member
	states      []record.Collect // of sources without a collector
}

type member struct {
	collect.Collector
	err     error // why Run ended
	started error // why it did not start; nil: it did
}

// collected is the final state of each collector, and notes for the record.
type collected struct {
	states []record.Collect
	notes  []string
}

// begin starts a collector, which then runs until running is done. If it cannot
// start, or fails later, the run continues without it, and the record says so.
func (c *collection) begin(ctx, running context.Context, collector collect.Collector, sink collect.Sink) error {
	m := &member{Collector: collector}
	c.members = append(c.members, m)
	if m.started = crash.Call(func() error { return collector.Start(ctx) }); m.started != nil {
		m.err = m.started
		return m.err
	}
	c.running.Go(func() { m.err = crash.Call(func() error { return m.Run(running, sink) }) })
	return nil
}

// failed returns why the collector of a source did not start; nil if it did. There may be
// none.
func (c *collection) failed(source string) error {
	for _, m := range c.members {
		if m.Source() == source {
			return m.started
		}
	}
	return errors.New("there is nothing to read it from")
}

// absent records a source that was not requested.
func (c *collection) absent(source, reason string) {
	c.states = append(c.states, record.Collect{Source: source, State: record.StateAbsent, Reason: reason})
}

// stop ends the collectors, restores what they changed, and returns how each ended.
func (c *collection) stop() (done collected) {
	c.cancel()
	c.running.Wait()
	done.states = c.states
	for _, m := range c.members {
		state := record.Collect{Source: m.Source(), State: record.StateOK}
		switch {
		case errors.Is(m.err, service.ErrAbsent):
			state.State, state.Reason = record.StateAbsent, m.err.Error()
		case m.err != nil:
			state.State, state.Reason = record.StateFailed, m.err.Error()
		}
		if err := crash.Call(m.Close); err != nil {
			done.notes = append(done.notes, fmt.Sprintf("%s: not restored: %v", m.Source(), err))
		}
		if noted, ok := m.Collector.(interface{ Notes() []string }); ok {
			done.notes = append(done.notes, noted.Notes()...)
		}
		done.states = append(done.states, state)
	}
	return done
}
