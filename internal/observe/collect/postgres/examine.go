package postgres

import (
	"context"
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
)

// Examine checks before a run whether waits can be read from the server at the DSN. It
// returns the error that Start would return: a *sampling.RightsError if the user may not
// see the sessions of other users.
func (Driver) Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	c := New(dsn)
	defer func() { _ = c.Close() }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dsnErr == nil {
		c.link.name = ownName // so that runs do not count this session as a run
	}
	if err := collect.First(ctx, c.start); err != nil {
		return sampling.Examination{}, err
	}
	status, _ := c.readStatus(ctx) // what cannot be read is missing
	return sampling.Examination{Notes: c.notes.All(), Hints: c.hints, Variables: slices.Sorted(maps.Keys(status.values))}, nil
}
