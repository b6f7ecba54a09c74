package mysql

import (
	"context"
	"fmt"

	"assay/harness/observe/collect/sampling"
)

// Examine looks, before a run, whether the waits of the server at the DSN can be
// read, and changes nothing. Its error is the one that Start would give: a
// *sampling.RightsError where the user may not read them.
func Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	c := New(dsn, Options{})
	defer func() { _ = c.Close() }() // nothing was switched on: there is nothing to restore
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.connect(ctx); err != nil {
		return sampling.Examination{}, err
	}
	if err := c.server.usable(); err != nil {
		return sampling.Examination{}, err
	}
	off, err := c.off(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	for _, on := range off.switchOn() {
		// The server checks the right before it looks for rows, of which there is none.
		switch err := c.link.exec(ctx, "UPDATE performance_schema."+on.table+" SET ENABLED = 'YES' WHERE NAME = ''"); {
		case denied(err):
			c.cannotSwitch(ctx, on)
		case err != nil:
			return sampling.Examination{}, fmt.Errorf("try to change %s: %w", on.table, err)
		}
	}
	if err := c.trySample(ctx); err != nil {
		return sampling.Examination{}, err
	}
	return sampling.Examination{Off: len(off.names()), Notes: c.notes.All()}, nil
}
