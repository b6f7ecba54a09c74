package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"assay/harness/observe/collect/sampling"
)

// Instruments that one run has enabled may be needed by another run on the same server.
// A run that ends while no other uses the server restores what it enabled, and what
// earlier runs recorded in its journal folder. A run that ends while another uses the
// server leaves everything enabled and adds a note.

const (
	// restoreTimeout is how long a restore that fails is tried again, with a reconnect if it
	// needs one. A try is bounded by itself, and may first wait for the setup lock.
	restoreTimeout = 8 * time.Second
	// endingTimeout is how long a session may stay visible after its client has closed
	// it.
	endingTimeout = time.Second
	// restartTolerance is how far two readings of a server's start may differ: they
	// are taken from its uptime in whole seconds.
	restartTolerance = 3 * time.Second
)

// writeJournal records in the journal what has to be restored.
func (c *Collector) writeJournal() error {
	return c.journal.write(entry{c.public, c.started.Unix(), c.former})
}

// restore undoes what instrument changed, and restores what earlier runs left enabled.
// For the latter it tries only once.
func (c *Collector) restore() error {
	changed := !c.former.empty()
	if !changed && (!c.instrumented || c.journal.folder == "") {
		return nil
	}
	for deadline := time.Now().Add(restoreTimeout); ; time.Sleep(200 * time.Millisecond) {
		err := c.restoreOnce(context.Background()) // the run's context is done by now
		switch {
		case err == nil:
			return nil
		case !changed:
			slog.Debug("database collector cannot restore what earlier runs left enabled", "err", err)
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("restore the instruments of the database: %w; run as an administrator: %s -- or restart the server", err, c.former.restoreSQL())
		}
	}
}

func (c *Collector) restoreOnce(ctx context.Context) error {
	if err := c.link.open(ctx); err != nil {
		return err
	}
	c.link.lock(ctx) // held until the session ends
	if err := c.forgetIfRestarted(ctx); err != nil {
		return err
	}
	switch shared, err := c.usedByOtherRuns(ctx); {
	case err != nil:
		return err
	case shared:
		return c.leaveEnabled()
	}
	if err := c.undo(ctx, &c.former); err != nil {
		return err
	}
	c.journal.takeOverAll(func(e entry) entry {
		switch {
		case e.Database != c.public:
		case !c.sameStart(time.Unix(e.Started, 0)):
			e.formerSetup = formerSetup{} // the server was restarted, which restored it
		default:
			if err := c.undo(ctx, &e.formerSetup); err != nil {
				slog.Debug("database collector cannot restore what an earlier run left enabled", "err", err)
			}
		}
		return e
	})
	return c.journal.remove()
}

// undo restores what it can and removes it from s.
func (c *Collector) undo(ctx context.Context, s *formerSetup) (err error) {
	for _, back := range s.restore() {
		if e := c.link.exec(ctx, back.statement); e != nil {
			err = errors.Join(err, e)
			continue
		}
		*s = s.except(back.names)
	}
	return err
}

// leaveEnabled leaves everything enabled and adds a note.
func (c *Collector) leaveEnabled() error {
	c.notes.Add(sampling.SharedServer)
	if !c.former.empty() {
		next := ""
		if c.journal.folder != "" {
			next = "; the last run on this server with the same runs folder restores them"
		}
		c.notes.Add("database: %d instruments and consumers that this run enabled stay on because another run of Assay still uses this server%s; run as an administrator: %s",
			len(c.former.names()), next, c.former.restoreSQL())
	}
	c.former = formerSetup{}
	return c.journal.release()
}

// usedByOtherRuns reports whether another run uses the server. It waits for sessions
// that are just ending.
func (c *Collector) usedByOtherRuns(ctx context.Context) (bool, error) {
	for deadline := time.Now().Add(endingTimeout); ; time.Sleep(retryInterval) {
		if n, err := c.otherRuns(ctx); err != nil || n == 0 || time.Now().After(deadline) {
			return n > 0, err
		}
	}
}

// otherRuns counts the sessions of other runs; 0 if the user may not see them.
func (c *Collector) otherRuns(ctx context.Context) (n int, err error) {
	const sessions = "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE ATTR_NAME = '" + runAttribute + "' AND ATTR_VALUE <> ?"
	err = c.link.query(ctx, sessions, []any{c.link.id}, func(rows *sql.Rows) error { return rows.Scan(&n) })
	if denied(err) {
		err = nil
	}
	return n, err
}

// forgetIfRestarted discards the former setup if the server was restarted, or if another
// server answers at the same address: neither still has what this run enabled.
func (c *Collector) forgetIfRestarted(ctx context.Context) error {
	var name string
	var uptime int64 // s
	err := c.link.query(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'", nil, func(rows *sql.Rows) error { return rows.Scan(&name, &uptime) })
	if err != nil {
		return fmt.Errorf("read the server's uptime: %w", err)
	}
	started := time.Now().Add(-time.Duration(uptime) * time.Second)
	if c.sameStart(started) {
		// A restart within the tolerance is not detected. Later readings are compared
		// with this one, which is of the current server, so they differ only by rounding.
		c.started = started
		return nil
	}
	if !c.former.empty() {
		slog.Warn("the database was restarted, or another server answers at its address: instruments enabled before are not restored")
	}
	c.started, c.former = started, formerSetup{}
	return nil
}

// sameStart reports whether this start of the server is the one that was read last, within
// restartTolerance.
func (c *Collector) sameStart(started time.Time) bool {
	return started.Sub(c.started).Abs() <= restartTolerance
}
