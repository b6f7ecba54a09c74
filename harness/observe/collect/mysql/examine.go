package mysql

import (
	"context"
	"fmt"

	"assay/harness/observe/collect/sampling"
)

// Examine looks, before a run, whether the waits of the server at the DSN can
// be read: its error is the one that Start would give, a *sampling.RightsError where the
// user may not read them.
func Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	c := New(dsn, Options{})
	defer func() { _ = c.Close() }() // nothing was switched on: there is nothing to restore
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.link.hide()
	}
	if err := c.connect(ctx); err != nil {
		return sampling.Examination{}, err
	}
	if err := c.server.unfit(); err != nil {
		return sampling.Examination{}, err
	}
	off, err := c.off(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	if err := c.tryOut(ctx); err != nil {
		return sampling.Examination{}, err
	}
	return sampling.Examination{Off: off, Notes: c.notes.All()}, nil
}

// off counts what is off, and notes what may not be switched on.
func (c *Collector) off(ctx context.Context) (int, error) {
	consumers, err := c.consumersOff(ctx)
	if err != nil {
		return 0, c.readable("read setup_consumers", err)
	}
	rows, err := c.instrumentsOff(ctx)
	if err != nil {
		return 0, c.readable("read setup_instruments", err)
	}
	for _, t := range []struct {
		table, update string
		names         []string
	}{
		{"setup_consumers", consumersOn(consumers), consumers},
		{"setup_instruments", instrumentsOn(namesOf(rows)), namesOf(rows)},
	} {
		if len(t.names) == 0 {
			continue
		}
		// The right is looked at before the rows, of which there is none.
		err := c.link.exec(ctx, "UPDATE performance_schema."+t.table+" SET ENABLED = 'YES' WHERE NAME = ''")
		switch {
		case denied(err):
			c.cannotSwitch(ctx, t.table, t.names, t.update)
		case err != nil:
			return 0, fmt.Errorf("try to change %s: %w", t.table, err)
		}
	}
	return len(consumers) + len(rows), nil
}
