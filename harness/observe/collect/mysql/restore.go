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
	// restoreTimeout bounds the restore, with a reconnect if it needs one.
	restoreTimeout = 5 * time.Second
	// endingTimeout is how long a session may stay visible after its client has closed
	// it.
	endingTimeout = 500 * time.Millisecond
	// restartTolerance is how far two readings of a server's start may differ: they
	// are taken from its uptime in whole seconds.
	restartTolerance = 3 * time.Second
)

// keep writes what has to be restored to the journal.
func (c *Collector) keep() error {
	return c.journal.keep(entry{c.public, c.started.Unix(), c.switched})
}

// restore undoes what instrument changed, and what other runs have left; the latter
// is tried once.
func (c *Collector) restore() error {
	own := !c.switched.empty()
	if !own && (!c.instrumented || c.journal.folder == "") {
		return nil
	}
	// The run's context is done by now.
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	for {
		err := c.restoreOnce(ctx)
		switch {
		case err == nil:
			return nil
		case !own:
			slog.Debug("database collector cannot restore what other runs have left", "err", err)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("restore the instruments of the database: %w; a restart of the server does it too, or run: %s", err, c.switched.restoreSQL())
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// restoreOnce tries it once.
func (c *Collector) restoreOnce(ctx context.Context) error {
	if err := c.link.open(ctx); err != nil {
		return err
	}
	c.link.lock(ctx) // until the session ends
	if err := c.forgetIfRestarted(ctx); err != nil {
		return err
	}
	switch shared, err := c.watchedByOthers(ctx); {
	case err != nil:
		return err
	case shared:
		return c.leaveOn()
	}
	if err := c.undo(ctx, &c.switched); err != nil {
		return err
	}
	c.journal.eachLeft(func(e entry) entry {
		switch {
		case e.Database != c.public:
		case !c.sameStart(time.Unix(e.Started, 0)):
			e.switched = switched{} // the server was restarted, which restored it
		default:
			if err := c.undo(ctx, &e.switched); err != nil {
				slog.Debug("database collector cannot restore what another run has left", "err", err)
			}
		}
		return e
	})
	return c.journal.end()
}

// undo restores what it can, and leaves the rest in s.
func (c *Collector) undo(ctx context.Context, s *switched) (err error) {
	for _, back := range s.restore() {
		if e := c.link.exec(ctx, back.statement); e != nil {
			err = errors.Join(err, e)
			continue
		}
		*s = s.without(back.names)
	}
	return err
}

// leaveOn leaves everything on, and notes so.
func (c *Collector) leaveOn() error {
	c.notes.Add(sampling.SharedServer)
	if !c.switched.empty() {
		next := ""
		if c.journal.folder != "" {
			next = "; the last run on this server with the same runs folder restores them"
		}
		c.notes.Add("database: %d instruments and consumers that this run enabled stay on because another run of Assay still uses this server%s; run as an administrator: %s",
			len(c.switched.names()), next, c.switched.restoreSQL())
	}
	c.switched = switched{}
	return c.journal.leave()
}

// watchedByOthers tells whether another run watches the server. A session that ends
// just now does not count.
func (c *Collector) watchedByOthers(ctx context.Context) (bool, error) {
	for deadline := time.Now().Add(endingTimeout); ; time.Sleep(retryInterval) {
		if n, err := c.others(ctx); err != nil || n == 0 || time.Now().After(deadline) {
			return n > 0, err
		}
	}
}

// others counts the sessions of other runs; 0 where the user may not see them.
func (c *Collector) others(ctx context.Context) (n int, err error) {
	const sessions = "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE ATTR_NAME = '" + runAttribute + "' AND ATTR_VALUE <> ?"
	err = c.link.query(ctx, sessions, []any{c.link.id}, func(rows *sql.Rows) error { return rows.Scan(&n) })
	if denied(err) {
		err = nil
	}
	return n, err
}

// forgetIfRestarted drops what was switched on in a server that has been restarted
// since, or in another one behind the same address: this server's setup is its own.
func (c *Collector) forgetIfRestarted(ctx context.Context) error {
	var name string
	var uptime int64 // s
	err := c.link.query(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'", nil, func(rows *sql.Rows) error { return rows.Scan(&name, &uptime) })
	if err != nil {
		return fmt.Errorf("read when the server started: %w", err)
	}
	started := time.Now().Add(-time.Duration(uptime) * time.Second)
	if c.sameStart(started) {
		// A restart within the tolerance looks the same. Later readings are compared
		// with that of this server, from which they differ by rounding alone.
		c.started = started
		return nil
	}
	if !c.switched.empty() {
		slog.Warn("the database was restarted, or another server answers at its address: instruments enabled before are not restored")
	}
	c.started, c.switched = started, switched{}
	return nil
}

// sameStart tells whether the watched server is the one that started then.
func (c *Collector) sameStart(started time.Time) bool {
	return started.Sub(c.started).Abs() <= restartTolerance
}
