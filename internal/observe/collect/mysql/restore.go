package mysql

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"assay.dev/assay/internal/observe/collect/sampling"
)

// What one run has switched on may be needed by another run on the same server. The run that
// ends while no other is there that may restore a table restores all that is marked in it
// (setup.go), by whichever run.

// restoreTimeout is how long a restore that fails is tried again, with a reconnect if it
// needs one. A try is bounded by itself, and may first wait for the setup lock.
const restoreTimeout = 8 * time.Second

// restore restores what this run and earlier ones have switched on. For what only earlier ones
// have left on it tries once.
func (c *Collector) restore() error {
	if !c.instrumented {
		return nil
	}
	for deadline := time.Now().Add(restoreTimeout); ; time.Sleep(200 * time.Millisecond) {
		err := c.restoreOnce(context.Background()) // the run's context is done by now
		switch {
		case err == nil:
			return nil
		case len(c.switched) == 0 && (!c.unread || denied(err)): // who may not restore has not switched on either
			slog.Debug("database collector cannot restore what earlier runs left on", "err", err)
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("restore the instruments of the database: %w; run as an administrator: %s -- or restart the server", err, restoreSQL())
		}
	}
}

func (c *Collector) restoreOnce(ctx context.Context) error {
	if err := c.link.open(ctx); err != nil {
		return err
	}
	// If several runs end at once, each sees that the others end too.
	if err := c.link.leave(ctx); err != nil {
		return err
	}
	var may []setup
	var tables []string
	for _, s := range c.link.flavour.setups {
		if !c.mayNot[s.table] {
			may, tables = append(may, s), append(tables, s.table)
		}
	}
	if len(may) == 0 {
		return nil
	}
	if _, err := c.link.othersStay(ctx, tables...); err != nil {
		return fmt.Errorf("check for other runs: %w", err)
	}
	c.link.lock(ctx) // held until the session ends
	var failed error
	for _, s := range may {
		failed = cmp.Or(failed, c.restoreTable(ctx, s))
	}
	return failed
}

// restoreTable restores a table, unless another run does.
func (c *Collector) restoreTable(ctx context.Context, s setup) error {
	others, err := c.link.others(ctx, s.table)
	switch {
	case err != nil:
		return fmt.Errorf("check for other runs: %w", err)
	case others:
		c.notes.Add(sampling.SharedServer)
		return nil
	}
	// Who may not remove a mark must not restore its row: the mark would remain, and be
	// taken for one of a row that somebody switches on later.
	for _, statement := range append([]string{s.none().forgetMissing()}, s.restore()...) {
		if err := c.link.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// passing are those of the marked rows that are on while another run lasts: all or none.
func (c *Collector) passing(ctx context.Context, s setup, marked []string) ([]string, error) {
	if others, err := c.link.others(ctx, s.table, ending); err != nil || !others {
		return nil, err
	}
	return marked, nil
}

// leftOn says what runs have left on that ended without restoring it, and what restores it;
// empty: nothing.
func (c *Collector) leftOn(ctx context.Context) (string, error) {
	if _, err := c.link.othersStay(ctx, append(c.link.flavour.kinds(), ending)...); err != nil {
		return "", err
	}
	c.link.lock(ctx) // a run that begins is not seen until it has it no more
	defer c.link.unlock(ctx)
	n, may := 0, true
	for _, s := range c.link.flavour.setups {
		_, marked, err := c.read(ctx, s)
		if err != nil {
			return "", err
		}
		passing, err := c.passing(ctx, s, marked)
		if err != nil {
			return "", err
		}
		if left := len(marked) - len(passing); left > 0 {
			n += left
			may = may && !c.mayNot[s.table]
		}
	}
	if n == 0 {
		return "", nil
	}
	return leftText(n, may), nil
}

// leftText says that so many rows are left on, and whether a run may restore all of them.
func leftText(n int, may bool) string {
	who := "a run restores them when it ends"
	if !may {
		who = "a run of this user may not restore all of them"
	}
	return fmt.Sprintf("database: %d instruments and consumers are on since a run of Assay that was killed, and %s; run as an administrator: %s", n, who, restoreSQL())
}
