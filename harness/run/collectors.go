package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/harness/observe/collect"
	"assay/harness/observe/record"
)

// closeTimeout bounds the wait for collectors after they were told to stop.
const closeTimeout = 20 * time.Second

// collection is the collectors of a run.
type collection struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	members []*member
	states  []record.Collect
	notes   []string
}

type member struct {
	collect.Collector
	err error // why Run ended
}

// collected is what became of the collectors.
type collected struct {
	states []record.Collect
	notes  []string
}

// begin starts one collector. Where it cannot start the run goes on without it,
// and the record says so.
func (c *collection) begin(ctx context.Context, one collect.Collector, sink collect.Sink) error {
	if err := one.Start(ctx); err != nil {
		c.states = append(c.states, record.Collect{Source: one.Source(), State: record.StateFailed, Reason: err.Error()})
		return fmt.Errorf("%s: %w", one.Source(), err)
	}
	m := &member{Collector: one}
	c.members = append(c.members, m)
	c.running.Go(func() { m.err = m.Run(ctx, sink) })
	return nil
}

// stop ends the collectors and restores what they changed.
func (c *collection) stop() collected {
	if c.cancel == nil {
		return collected{c.states, c.notes}
	}
	c.cancel()
	c.cancel = nil
	c.running.Wait()
	for _, m := range c.members {
		state := record.Collect{Source: m.Source(), State: record.StateOK}
		if m.err != nil {
			state.State, state.Reason = record.StateFailed, m.err.Error()
		}
		if err := m.Close(); err != nil {
			c.notes = append(c.notes, fmt.Sprintf("%s: not restored: %v", m.Source(), err))
		}
		if noted, ok := m.Collector.(interface{ Notes() []string }); ok {
			c.notes = append(c.notes, noted.Notes()...)
		}
		c.states = append(c.states, state)
	}
	return collected{c.states, c.notes}
}
