package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"assay/harness/observe/collect/sampling"
)

// consumers that must be enabled. By default MySQL enables all but the first, MariaDB
// 10.11 all but the first two (WAITS section 3).
var consumers = []string{
	"events_waits_current", "events_statements_current",
	"global_instrumentation", "thread_instrumentation", "statements_digest",
}

const (
	// timed is the one instrument whose time is needed too, to tell which sessions
	// wait for a row lock. The others must only be visible: reading the clock twice
	// an event is half of what those of MYSQL_BIN_LOG cost (MySQL 9.7.4, one session,
	// nothing flushed: 3.2 of 70 us CPU a commit, untimed 1.4).
	timed = "wait/io/table/sql/handler"
	// unused is left as it is, although it is one of MYSQL_BIN_LOG: every commit takes
	// this mutex, and it was in 1 of 17,000 samples of 32 sessions.
	unused = "wait/synch/mutex/sql/MYSQL_BIN_LOG::LOCK_flush_queue"
)

// The tables of performance_schema that say what is on.
const (
	setupConsumers   = "setup_consumers"
	setupInstruments = "setup_instruments"
)

// instrument enables what is disabled and saves the former state, also in the journal.
// It is called again after a reconnect, because a restart of the server resets the
// setup. Without the privilege to change the setup it continues and adds a note.
func (c *Collector) instrument(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A statement that is cancelled might still take effect after the restore.
	ctx = context.WithoutCancel(ctx)
	c.link.lock(ctx)
	defer c.link.unlock(ctx)
	switch shared, err := c.watchedByOthers(ctx); {
	case err != nil:
		return fmt.Errorf("look for other runs: %w", err)
	case shared:
		c.notes.Add(sampling.SharedServer)
	}
	if err := c.forgetIfRestarted(ctx); err != nil {
		return err
	}
	off, err := c.off(ctx)
	if err != nil {
		return err
	}
	// Saved before the change: if the connection is lost now, it is unknown whether the
	// server has made it.
	before := c.switched
	c.switched = before.and(off)
	if err := c.keep(); err != nil {
		return err
	}
	for _, on := range off.switchOn() {
		switch err := c.link.exec(ctx, on.statement); {
		case denied(err):
			c.cannotSwitch(ctx, on)
			c.switched = c.switched.without(slices.DeleteFunc(slices.Clone(on.names), before.has))
		case err != nil:
			return fmt.Errorf("switch instruments on: %w", err)
		}
	}
	c.instrumented = true
	return c.keep()
}

// off reads which needed consumers and instruments are disabled.
func (c *Collector) off(ctx context.Context) (off switched, err error) {
	statement := "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN " + list(consumers)
	err = c.link.query(ctx, statement, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		off.Consumers = append(off.Consumers, name)
		return err
	})
	if err != nil {
		return off, c.readable("read "+setupConsumers, err)
	}
	patterns := c.link.flavour.instruments
	args := []any{timed, unused}
	for _, p := range patterns {
		args = append(args, p) // an underscore matches more than itself, but nothing that exists
	}
	statement = "SELECT NAME, ENABLED, COALESCE(TIMED, 'NO') FROM performance_schema.setup_instruments" +
		" WHERE (ENABLED = 'NO' OR TIMED = 'NO' AND NAME = ?) AND NAME <> ? AND (NAME LIKE ?" + strings.Repeat(" OR NAME LIKE ?", len(patterns)-1) + ")"
	err = c.link.query(ctx, statement, args, func(rows *sql.Rows) error {
		var i instrument
		err := rows.Scan(&i.Name, &i.Enabled, &i.Timed)
		off.Instruments = append(off.Instruments, i)
		return err
	})
	if err != nil {
		return off, c.readable("read "+setupInstruments, err)
	}
	return off, nil
}

// cannotSwitch adds a note with the rows that stay disabled and the SQL to enable them.
func (c *Collector) cannotSwitch(ctx context.Context, on change) {
	account := c.account(ctx)
	c.notes.Add("database: %d rows of %s are disabled and %s may not enable them, so some waits are inferred or missing; run as an administrator: %s; -- or: GRANT UPDATE ON performance_schema.%s TO %s;",
		len(on.names), on.table, account, on.statement, on.table, account)
}

// readable wraps an error; a refused read gets the GRANT that would allow it.
func (c *Collector) readable(what string, err error) error {
	if !denied(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	account := c.account(context.Background())
	return &sampling.RightsError{
		Err: fmt.Errorf("%s: %w", what, err),
		SQL: fmt.Sprintf("GRANT SELECT, UPDATE ON performance_schema.* TO %s; GRANT PROCESS ON *.* TO %s;", account, account),
	}
}

// account returns the current user as a GRANT names it.
func (c *Collector) account(ctx context.Context) string {
	account := ""
	err := c.link.query(ctx, "SELECT CURRENT_USER()", nil, func(rows *sql.Rows) error { return rows.Scan(&account) })
	at := strings.LastIndexByte(account, '@')
	if err != nil || at < 0 {
		return "the user"
	}
	return quote(account[:at]) + "@" + quote(account[at+1:])
}
