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
	// timedInstrument is the only instrument whose time is needed, to find the sessions
	// that wait for a row lock. The others only need to be visible: reading the clock
	// twice per event is half of the cost of those of MYSQL_BIN_LOG (MySQL 9.7.4, one
	// session, nothing flushed: 3.2 of 70 us CPU per commit, untimed 1.4).
	timedInstrument = "wait/io/table/sql/handler"
	// excludedInstrument is not enabled, although it is one of MYSQL_BIN_LOG: every
	// commit takes this mutex, and it was in 1 of 17,000 samples of 32 sessions.
	excludedInstrument = "wait/synch/mutex/sql/MYSQL_BIN_LOG::LOCK_flush_queue"
)

// The tables of performance_schema that enable consumers and instruments.
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
	switch shared, err := c.usedByOtherRuns(ctx); {
	case err != nil:
		return fmt.Errorf("check for other runs: %w", err)
	case shared:
		c.notes.Add(sampling.SharedServer)
	}
	if err := c.forgetIfRestarted(ctx); err != nil {
		return err
	}
	disabled, err := c.disabled(ctx)
	if err != nil {
		return err
	}
	// Saved before the change: if the connection is lost during it, it is unknown whether
	// the server has made it.
	before := c.former
	c.former = before.union(disabled)
	if err := c.writeJournal(); err != nil {
		return err
	}
	for _, on := range disabled.enable() {
		switch err := c.link.exec(ctx, on.statement); {
		case denied(err):
			c.noteDenied(ctx, on)
			c.former = c.former.except(slices.DeleteFunc(slices.Clone(on.names), before.has))
		case err != nil:
			return fmt.Errorf("enable instruments: %w", err)
		}
	}
	c.instrumented = true
	return c.writeJournal()
}

// disabled reads which of the needed consumers and instruments are disabled.
func (c *Collector) disabled(ctx context.Context) (found formerSetup, err error) {
	statement := "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN " + list(consumers)
	err = c.link.query(ctx, statement, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		found.Consumers = append(found.Consumers, name)
		return err
	})
	if err != nil {
		return found, c.readError("read "+setupConsumers, err)
	}
	patterns := c.link.flavour.instruments
	args := []any{timedInstrument, excludedInstrument}
	for _, p := range patterns {
		args = append(args, p) // an underscore matches any character, but no other instrument exists that would match
	}
	statement = "SELECT NAME, ENABLED, COALESCE(TIMED, 'NO') FROM performance_schema.setup_instruments" +
		" WHERE (ENABLED = 'NO' OR TIMED = 'NO' AND NAME = ?) AND NAME <> ? AND (NAME LIKE ?" + strings.Repeat(" OR NAME LIKE ?", len(patterns)-1) + ")"
	err = c.link.query(ctx, statement, args, func(rows *sql.Rows) error {
		var i instrument
		err := rows.Scan(&i.Name, &i.Enabled, &i.Timed)
		found.Instruments = append(found.Instruments, i)
		return err
	})
	if err != nil {
		return found, c.readError("read "+setupInstruments, err)
	}
	return found, nil
}

// noteDenied adds a note with the number of rows that stay disabled and the SQL that
// enables them.
func (c *Collector) noteDenied(ctx context.Context, on change) {
	account := c.account(ctx)
	c.notes.Add("database: %d rows of %s are disabled and %s may not enable them, so some waits are inferred or missing; run as an administrator: %s; -- or: GRANT UPDATE ON performance_schema.%s TO %s;",
		len(on.names), on.table, account, on.statement, on.table, account)
}

// readError wraps an error. If the user lacks a privilege it adds the GRANT.
func (c *Collector) readError(what string, err error) error {
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
