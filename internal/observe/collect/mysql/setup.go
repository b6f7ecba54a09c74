package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// A run switches on consumers and instruments of performance_schema that are off. Before
// it does, it marks each in the server: by a row of setup_objects that names it in place
// of a table, with its former state, in a schema that does not exist. No table is affected
// by such a row. It lives in memory exactly as long as what it describes, so that a
// restart of the server removes both; it is neither replicated nor written to the binlog;
// and whoever connects to the server finds it, from any machine, by any name and as any
// user. What a killed run has left on is therefore restored by the next run or by hand,
// with the same statements.

// setup is one of the two tables that switch on what the collector reads. In its conditions
// and assignments s is a row of that table, and m the mark of that row.
type setup struct {
	table   string // in performance_schema
	mark    string // OBJECT_SCHEMA of its marks
	kind    string // prefix of names in the record
	missing string // condition: the row is needed, and off
	former  string // columns of the row that become ENABLED and TIMED of its mark
	on      string // assignments that switch the row on
	ours    string // condition: the row is as a run has left it, and nobody has changed it since
	back    string // assignments that restore the row
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
	// longestName is the width of OBJECT_NAME. No instrument that is needed has a longer
	// name.
	longestName = 64
)

// consumers are needed. By default MySQL enables all but events_waits_current, MariaDB
// 10.11 all but the first two (docs/waits.md, Instruments).
var consumers = setup{
	table: "setup_consumers", mark: "assay: consumer to restore", kind: "consumer/",
	missing: "s.ENABLED = 'NO' AND s.NAME IN " + list([]string{
		"events_waits_current", "events_statements_current",
		"global_instrumentation", "thread_instrumentation", "statements_digest",
	}),
	former: "s.ENABLED, 'NO'", // it has no other state
	on:     "s.ENABLED = 'YES'",
	ours:   "s.ENABLED = 'YES'",
	back:   "s.ENABLED = m.ENABLED",
}

// instruments returns the setup of the instruments that match these LIKE patterns. An
// underscore matches any character, but no other instrument exists that would match.
func instruments(patterns []string) setup {
	timed := "s.NAME = " + quote(timedInstrument)
	like := make([]string, len(patterns))
	for i, p := range patterns {
		like[i] = "s.NAME LIKE " + quote(p)
	}
	return setup{
		table: "setup_instruments", mark: "assay: instrument to restore",
		missing: fmt.Sprintf("(s.ENABLED = 'NO' OR s.TIMED = 'NO' AND %s) AND s.NAME <> %s AND CHAR_LENGTH(s.NAME) <= %d AND (%s)",
			timed, quote(excludedInstrument), longestName, strings.Join(like, " OR ")),
		former: "s.ENABLED, COALESCE(s.TIMED, 'NO')",
		on:     "s.ENABLED = 'YES', s.TIMED = IF(" + timed + ", 'YES', s.TIMED)",
		ours:   "s.ENABLED = 'YES' AND COALESCE(s.TIMED, 'NO') = IF(" + timed + ", 'YES', m.TIMED)",
		back:   "s.ENABLED = m.ENABLED, s.TIMED = m.TIMED",
	}
}

// readMissing returns the query for the names of rows that are needed and off.
func (s setup) readMissing() string {
	return fmt.Sprintf("SELECT s.NAME FROM performance_schema.%s s WHERE %s", s.table, s.missing)
}

// readMarked returns the query for the names of rows that runs have switched on, and that are
// still as they left them.
func (s setup) readMarked() string {
	return fmt.Sprintf("SELECT s.NAME FROM performance_schema.%s s JOIN performance_schema.setup_objects m ON m.OBJECT_SCHEMA = %s AND m.OBJECT_NAME = s.NAME WHERE %s",
		s.table, quote(s.mark), s.ours)
}

// switchOn returns the statements that mark what is missing, and switch on what is marked.
// A mark of a row that is off is outdated: its former state is that of now.
func (s setup) switchOn() []string {
	return []string{
		s.forgetMissing(),
		fmt.Sprintf("INSERT INTO performance_schema.setup_objects (OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, ENABLED, TIMED) SELECT 'TABLE', %s, s.NAME, %s FROM performance_schema.%s s WHERE %s",
			quote(s.mark), s.former, s.table, s.missing),
		s.updateMarked(s.on, s.missing),
	}
}

// forgetMissing returns the statement that removes the marks of rows that are off.
func (s setup) forgetMissing() string {
	return fmt.Sprintf("DELETE FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA = %s AND OBJECT_NAME IN (%s)", quote(s.mark), s.readMissing())
}

// restore returns the statements that restore what is marked, unless somebody has changed
// it since, and remove the marks.
func (s setup) restore() []string {
	return []string{
		s.updateMarked(s.back, s.ours),
		"DELETE FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA = " + quote(s.mark),
	}
}

func (s setup) updateMarked(assignments, condition string) string {
	return fmt.Sprintf("UPDATE performance_schema.%s s JOIN performance_schema.setup_objects m ON m.OBJECT_SCHEMA = %s AND m.OBJECT_NAME = s.NAME SET %s WHERE %s",
		s.table, quote(s.mark), assignments, condition)
}

// none returns s with nothing missing: its statements need the same privileges, and change
// nothing.
func (s setup) none() setup {
	s.missing = "FALSE"
	return s
}

// grants returns the statements by which an administrator allows the account to switch on
// and restore the table's rows.
func (s setup) grants(account string) string {
	return fmt.Sprintf("GRANT UPDATE ON performance_schema.%s TO %s; GRANT INSERT, DELETE ON performance_schema.setup_objects TO %s;", s.table, account, account)
}

// restoreSQL returns the statements that restore all that runs have left on, on one line,
// for an administrator.
func restoreSQL() string {
	return strings.Join(append(consumers.restore(), instruments(nil).restore()...), "; ") + ";"
}

func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// quote formats an SQL string literal. Doubling a quote is valid in every SQL mode.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// instrument switches on what is needed and off. It is called again after a reconnect: the
// server may have been restarted, or be another one. Where the server refuses to change the
// setup it continues and adds a note.
func (c *collector) instrument(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A statement that is cancelled might still take effect after the restore.
	ctx = context.WithoutCancel(ctx)
	others, err := c.link.othersStay(ctx, c.link.flavour.kinds()...)
	if err != nil {
		return fmt.Errorf("check for other runs: %w", err)
	}
	if others {
		c.notes.Add(sampling.SharedServer)
	}
	now, err := value[string](ctx, c.link, "SELECT "+c.link.flavour.identity)
	if err != nil {
		return fmt.Errorf("identify the server: %w", err)
	}
	if c.at != "" && c.at != now && len(c.switched) > 0 {
		c.notes.Add("database: another server answers since a reconnect, and %d instruments and consumers are still on at the former one (%s), unless it was restarted; run there as an administrator: %s",
			len(c.switched), c.at, restoreSQL())
	}
	c.link.lock(ctx)
	defer c.link.unlock(ctx)
	c.at = now
	left := 0
	for _, s := range c.link.flavour.setups {
		c.instrumented, c.unread = true, true // perhaps, from here on
		refusal, err := c.switchOn(ctx, s)
		if err != nil {
			return fmt.Errorf("change %s: %w", s.table, err)
		}
		c.mayNot[s.table] = refusal != nil && !full(refusal)
		missing, marked, err := c.read(ctx, s)
		if err != nil {
			return err
		}
		if c.mayNot[s.table] {
			passing, err := c.passing(ctx, s, marked)
			if err != nil {
				return err
			}
			left += len(marked) - len(passing)
			missing, marked = append(missing, passing...), nil
		} else if err := c.link.join(ctx, s.table); err != nil {
			return err
		}
		c.noteMissing(ctx, s, missing, refusal)
		for _, name := range marked {
			if name = s.kind + name; !slices.Contains(c.switched, name) {
				c.switched = append(c.switched, name)
			}
		}
	}
	c.unread = false
	if left > 0 {
		c.notes.Add("%s", leftText(left, false))
	}
	if len(c.link.places) == 0 {
		return c.link.join(ctx, guest)
	}
	return nil
}

// read reads which rows are needed and off, and which of them runs have switched on.
func (c *collector) read(ctx context.Context, s setup) (missing, marked []string, err error) {
	if missing, err = values[string](ctx, c.link, s.readMissing()); err != nil {
		return nil, nil, c.readError("read "+s.table, err)
	}
	if marked, err = values[string](ctx, c.link, s.readMarked()); err != nil && !denied(err) {
		return nil, nil, fmt.Errorf("read setup_objects: %w", err)
	}
	return missing, marked, nil
}

// switchOn marks and switches on what is missing. refusal is why the server does not do
// all of it. Nothing is on then that is not marked.
func (c *collector) switchOn(ctx context.Context, s setup) (refusal, err error) {
	for _, statement := range s.switchOn() {
		switch err := c.link.exec(ctx, statement); {
		case err == nil:
		case !refused(err):
			return nil, err
		default:
			refusal = err
		}
		if refusal != nil && !full(refusal) { // those for which there is room are marked
			break
		}
	}
	if refusal != nil {
		_ = c.link.exec(ctx, s.forgetMissing()) // likewise refused, or there is nothing to remove
	}
	return refusal, nil
}

// full reports whether setup_objects has no room for a mark.
func full(err error) bool { return is(err, code.ER_RECORD_FILE_FULL, code.ER_OUT_OF_RESOURCES) }

// noteMissing adds a note with the number of rows that the server does not switch on for
// this run, and the SQL that has them on.
func (c *collector) noteMissing(ctx context.Context, s setup, names []string, refusal error) {
	if len(names) == 0 || refusal == nil {
		return
	}
	account := c.account(ctx)
	why, remedy := account+" may not do so", s.grants(account)
	switch {
	case dialect.Is(refusal, database.ReadOnly):
		why, remedy = "the server is read-only", fmt.Sprintf("GRANT READ_ONLY ADMIN ON *.* TO %s;", account)
	case full(refusal):
		why, remedy = "setup_objects is full", "restart the server with performance_schema_setup_objects_size=-1"
	case !denied(refusal):
		why = "the server refuses: " + database.Line(database.Reason(refusal))
	}
	c.notes.Add("database: %d rows of %s are off, or on only while another run lasts, and this run cannot switch them on (%s), so some waits are inferred or missing; run as an administrator: UPDATE performance_schema.%s s SET %s WHERE s.NAME IN %s; -- or: %s",
		len(names), s.table, why, s.table, s.on, list(names), remedy)
}

// readError wraps an error. If the user lacks a privilege it adds the GRANT.
func (c *collector) readError(what string, err error) error {
	if !denied(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	account := c.account(context.Background())
	return &sampling.RightsError{
		Err: fmt.Errorf("%s: %w", what, err),
		SQL: fmt.Sprintf("GRANT SELECT, UPDATE ON performance_schema.* TO %s; GRANT INSERT, DELETE ON performance_schema.setup_objects TO %s; GRANT PROCESS ON *.* TO %s;", account, account, account),
	}
}

// account returns the current user as a GRANT names it.
func (c *collector) account(ctx context.Context) string {
	account, err := value[string](ctx, c.link, "SELECT CURRENT_USER()")
	at := strings.LastIndexByte(account, '@')
	if err != nil || at < 0 {
		return "the user"
	}
	return quote(account[:at]) + "@" + quote(account[at+1:])
}
