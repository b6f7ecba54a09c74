package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
func (c *collector) restore() error {
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

func (c *collector) restoreOnce(ctx context.Context) error {
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
func (c *collector) restoreTable(ctx context.Context, s setup) error {
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
func (c *collector) passing(ctx context.Context, s setup, marked []string) ([]string, error) {
	if others, err := c.link.others(ctx, s.table, ending); err != nil || !others {
		return nil, err
	}
	return marked, nil
}

// leftOn says what runs have left on that ended without restoring it, and what restores it;
// empty: nothing.
func (c *collector) leftOn(ctx context.Context) (string, error) {
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

// Runs on one server know of each other by its user-level locks (GET_LOCK), which need no
// privilege to take or to see, and which the server releases when the session ends: when
// the process is killed, too.

const (
	// setupLock serialises the changes of setup tables: of two runs that end at the same time
	// the second restores what is left, and none switches off what another has just found
	// on.
	setupLock = "assay setup"
	// ownLock is held by all sessions of one collector in turn.
	ownLock = "assay collector "
	// placeLock is held by a run during its sessions, one of places of each kind.
	placeLock = "assay %s %d"
	places    = 32

	// lockTimeout is longer than several collectors in turn need. After it the collector
	// continues without the lock.
	lockTimeout   = 12 * time.Second
	retryInterval = 20 * time.Millisecond
	// endingTimeout is how long a session may stay visible after its client has closed
	// it.
	endingTimeout = time.Second
)

// A run holds a place of the kind of each setup table that it may restore: while one is held,
// nobody else restores that table.
const (
	// guest is the kind of a run that may restore none. Others do not leave anything on for it.
	guest = "guest"
	// ending is the kind of a run that has given up its other places, and restores what is on.
	ending = "ending run"
)

// kinds are those of all runs that last.
func (f *flavour) kinds() []string {
	all := []string{guest}
	for _, s := range f.setups {
		all = append(all, s.table)
	}
	return all
}

func (l *link) lock(ctx context.Context) {
	for deadline := time.Now().Add(lockTimeout); ; {
		got, err := l.tryLock(ctx, setupLock)
		if got {
			return
		}
		if err != nil || time.Now().After(deadline) {
			slog.Debug("database collector continues without the setup lock", "err", err)
			return
		}
		time.Sleep(retryInterval)
	}
}

func (l *link) unlock(ctx context.Context) { l.release(ctx, setupLock) }

// tryLock reports whether this session holds the lock now. On a server that refuses locks
// altogether, such as Percona XtraDB Cluster in its strict mode, every run is as if alone.
func (l *link) tryLock(ctx context.Context, name string) (bool, error) {
	got, err := value[int64](ctx, l, "SELECT GET_LOCK(?, 0)", name)
	if refused(err) {
		slog.Debug("database collector takes no lock", "err", err)
		return true, nil
	}
	return got == 1, err
}

func (l *link) release(ctx context.Context, name string) {
	_ = l.exec(ctx, "DO RELEASE_LOCK(?)", name) // a lost session holds no lock
}

// join takes a place of this kind, unless this session has one.
func (l *link) join(ctx context.Context, kind string) error {
	if l.places[kind] != "" {
		return nil
	}
	for i := range places {
		name := fmt.Sprintf(placeLock, kind, i)
		got, err := l.tryLock(ctx, name)
		if err != nil {
			return err
		}
		if got {
			l.places[kind] = name
			return nil
		}
	}
	slog.Debug("database collector is not seen by other runs: all places are taken", "kind", kind)
	return nil
}

// leave gives up all places, for one of a run that ends.
func (l *link) leave(ctx context.Context) error {
	err := l.join(ctx, ending)
	for kind, name := range l.places {
		if kind != ending {
			l.release(ctx, name)
			delete(l.places, kind)
		}
	}
	return err
}

// others reports whether another run on the server has a place of these kinds.
func (l *link) others(ctx context.Context, kinds ...string) (found bool, err error) {
	var holders []string
	for _, kind := range kinds {
		for i := range places {
			holders = append(holders, "IS_USED_LOCK("+quote(fmt.Sprintf(placeLock, kind, i))+")")
		}
	}
	// A session that this collector has lost may not have ended yet.
	statement := "SELECT CONNECTION_ID(), COALESCE(IS_USED_LOCK(?), ''), CONCAT_WS(' ', " + strings.Join(holders, ", ") + ")"
	err = l.query(ctx, statement, []any{ownLock + l.id}, func(rows *sql.Rows) error {
		var session, own, all string
		err := rows.Scan(&session, &own, &all)
		found = slices.ContainsFunc(strings.Fields(all), func(holder string) bool { return holder != session && holder != own })
		return err
	})
	if refused(err) { // as tryLock
		return false, nil
	}
	return found, err
}

// othersStay is others, once sessions that are just ending have ended.
func (l *link) othersStay(ctx context.Context, kinds ...string) (bool, error) {
	for deadline := time.Now().Add(endingTimeout); ; time.Sleep(retryInterval) {
		if found, err := l.others(ctx, kinds...); err != nil || !found || time.Now().After(deadline) {
			return found, err
		}
	}
}
