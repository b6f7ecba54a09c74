package mysql

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
)

// Examine checks before a run whether waits can be read from the server at the DSN. It
// changes nothing. It returns the error that Start would return: a
// *sampling.RightsError if the user may not read them.
func (Driver) Examine(ctx context.Context, dsn string) (found sampling.Examination, err error) {
	c := New(dsn)
	defer func() { _ = c.Close() }() // nothing was enabled, so there is nothing to restore
	c.mu.Lock()
	defer c.mu.Unlock()
	err = collect.First(ctx, func(ctx context.Context) (err error) {
		found, err = c.examine(ctx)
		return err
	})
	return found, err
}

// examine can be repeated.
func (c *Collector) examine(ctx context.Context) (sampling.Examination, error) {
	if err := c.connect(ctx); err != nil {
		return sampling.Examination{}, err
	}
	if err := c.server.usable(); err != nil {
		return sampling.Examination{}, err
	}
	disabled := 0
	room, err := c.room(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	for _, s := range c.link.flavour.setups {
		missing, marked, err := c.read(ctx, s)
		if err != nil {
			return sampling.Examination{}, err
		}
		disabled += len(missing)
		refusal, err := c.switchOn(ctx, s.none())
		if err != nil {
			return sampling.Examination{}, fmt.Errorf("try to change %s: %w", s.table, err)
		}
		marks := min(len(missing), room)
		if room -= marks; refusal == nil && marks < len(missing) {
			refusal = &driver.MySQLError{Number: code.ER_RECORD_FILE_FULL}
			missing = missing[marks:]
		}
		if c.mayNot[s.table] = refusal != nil && !full(refusal); c.mayNot[s.table] {
			passing, err := c.passing(ctx, s, marked)
			if err != nil {
				return sampling.Examination{}, err
			}
			missing = append(missing, passing...)
		}
		c.noteMissing(ctx, s, missing, refusal)
	}
	left, err := c.leftOn(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	logged, err := c.logged(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	if err := c.trySample(ctx); err != nil {
		return sampling.Examination{}, err
	}
	notes := c.notes.All()
	status, _ := c.readStatus(ctx) // what cannot be read is missing
	return sampling.Examination{Disabled: disabled, Notes: notes, Burdens: logged, Left: left, Variables: slices.Sorted(maps.Keys(status))}, nil
}

// room is the number of marks that setup_objects has room for.
func (c *Collector) room(ctx context.Context) (int, error) {
	const size = "CAST(@@GLOBAL.performance_schema_setup_objects_size AS SIGNED)" // -1: it grows
	n, err := c.link.queryNumber(ctx, fmt.Sprintf("SELECT IF(%s < 0, %d, %s - COUNT(*)) FROM performance_schema.setup_objects", size, math.MaxInt32, size))
	switch {
	case refused(err): // whoever may not read it is told so elsewhere
		return math.MaxInt32, nil
	case err != nil:
		return 0, fmt.Errorf("read the size of setup_objects: %w", err)
	}
	return max(0, int(n)), nil
}
