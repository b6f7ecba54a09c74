package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"assay/harness/observe/collect/sampling"
)

// consumers that must be on. MySQL has all but the first on by default, MariaDB
// 10.11 neither of the first two (WAITS section 3).
var consumers = []string{
	"events_waits_current", "events_statements_current",
	"global_instrumentation", "thread_instrumentation", "statements_digest",
}

// instruments that must be on, as LIKE patterns. Those of InnoDB's latches are
// left alone: they cost too much for a certifying run.
func instruments(maria bool) []string {
	common := []string{
		"wait/io/file/sql/binlog", "wait/io/file/innodb/innodb_log_file", "wait/io/file/innodb/innodb_data_file",
		"wait/io/table/sql/handler", "wait/lock/table/sql/handler",
	}
	if maria {
		return append(
			common,
			// What who waits for a metadata lock sleeps on. lock/metadata/sql/mdl,
			// which is off here by default, shows the same waits, but every
			// statement pays for it: 0.7 of 26 us CPU a commit (one session,
			// nothing flushed), nine tenths of what all instruments cost.
			"wait/synch/cond/sql/MDL_context::COND_wait_status",
			"wait/synch/cond/sql/THD::COND_wakeup_ready", "wait/synch/mutex/sql/LOG::LOCK_log",
			// The other queues of a group commit: seen in 81 of 16,000 samples of
			// sessions, of 32. LOCK_prepare_ordered was in none, and every commit
			// takes it.
			"wait/synch/mutex/sql/LOCK_commit_ordered",
			"wait/synch/mutex/sql/LOCK_after_binlog_sync", "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_queue_busy",
		)
	}
	return append(common, "transaction", "wait/lock/metadata/sql/mdl", "wait/synch/cond/sql/MYSQL_BIN_LOG%", "wait/synch/mutex/sql/MYSQL_BIN_LOG%")
}

const (
	// timed is the one instrument whose time is needed too, to tell who waits
	// for a row lock. The others must only be seen: reading the clock twice an
	// event is half of what those of MYSQL_BIN_LOG cost (MySQL 9.7.4, one
	// session, nothing flushed: 3.2 of 70 us CPU a commit, without it 1.4).
	timed = "wait/io/table/sql/handler"
	// unseen is left as it is, though it is of MYSQL_BIN_LOG: every commit takes
	// it, and it was in 1 of 17,000 samples of sessions, of 32.
	unseen = "wait/synch/mutex/sql/MYSQL_BIN_LOG::LOCK_flush_queue"
)

// instrument is a row of setup_instruments as it was before.
type instrument struct{ name, enabled, timed string }

// switches remembers what was switched on, to restore exactly that.
type switches struct {
	consumers   []string // were off
	instruments []instrument
}

func (s *switches) empty() bool { return len(s.consumers)+len(s.instruments) == 0 }

// names lists what was switched on, for the record.
func (s *switches) names() []string {
	var all []string
	for _, c := range s.consumers {
		all = append(all, "consumer/"+c)
	}
	for _, i := range s.instruments {
		all = append(all, i.name)
	}
	slices.Sort(all)
	return all
}

// switchOn switches on what is off and remembers it. It may be called again,
// after the server was restarted, say: what is remembered already stays as it
// was remembered first. Without the right to change the setup it goes on, with
// a note.
func (c *Collector) switchOn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Cut off in the middle, a switch might take place after the restore.
	ctx = context.WithoutCancel(ctx)
	off, err := c.consumersOff(ctx)
	if err != nil {
		return c.readable("read setup_consumers", err)
	}
	if len(off) > 0 {
		mine := slices.DeleteFunc(slices.Clone(off), func(name string) bool { return slices.Contains(c.switched.consumers, name) })
		// Remembered first: a connection that dies now leaves unknown whether
		// the server has done it.
		c.switched.consumers = append(c.switched.consumers, mine...)
		if err := c.kept(); err != nil {
			return err
		}
		update := consumersOn(off)
		switch err := c.link.exec(ctx, update); {
		case denied(err):
			c.switched.consumers = slices.DeleteFunc(c.switched.consumers, func(name string) bool { return slices.Contains(mine, name) })
			c.cannotSwitch(ctx, "setup_consumers", off, update)
		case err != nil:
			return fmt.Errorf("switch on consumers: %w", err)
		}
	}
	rows, err := c.instrumentsOff(ctx)
	if err != nil {
		return c.readable("read setup_instruments", err)
	}
	if len(rows) == 0 {
		return nil
	}
	names := namesOf(rows)
	known := namesOf(c.switched.instruments)
	mine := slices.DeleteFunc(slices.Clone(rows), func(i instrument) bool { return slices.Contains(known, i.name) })
	c.switched.instruments = append(c.switched.instruments, mine...)
	if err := c.kept(); err != nil {
		return err
	}
	update := instrumentsOn(names)
	switch err := c.link.exec(ctx, update); {
	case denied(err):
		c.switched.instruments = slices.DeleteFunc(c.switched.instruments, func(i instrument) bool { return !slices.Contains(known, i.name) })
		c.cannotSwitch(ctx, "setup_instruments", names, update)
	case err != nil:
		return fmt.Errorf("switch on instruments: %w", err)
	}
	return nil
}

// consumersOn and instrumentsOn are the statements that switch them on.
func consumersOn(names []string) string {
	return "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN " + list(names)
}

func instrumentsOn(names []string) string {
	return "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = IF(NAME = " + quote(timed) + ", 'YES', TIMED) WHERE NAME IN " + list(names)
}

func (c *Collector) consumersOff(ctx context.Context) (off []string, err error) {
	statement := "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN " + list(consumers)
	err = c.link.query(ctx, statement, nil, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		off = append(off, name)
		return nil
	})
	return off, err
}

func (c *Collector) instrumentsOff(ctx context.Context) (off []instrument, err error) {
	patterns := instruments(c.server.maria)
	args := []any{timed, unseen}
	for _, p := range patterns {
		args = append(args, p) // an underscore matches more than itself, but nothing that exists
	}
	statement := "SELECT NAME, ENABLED, COALESCE(TIMED, 'NO') FROM performance_schema.setup_instruments" +
		" WHERE (ENABLED = 'NO' OR TIMED = 'NO' AND NAME = ?) AND NAME <> ? AND (NAME LIKE ?" + strings.Repeat(" OR NAME LIKE ?", len(patterns)-1) + ")"
	err = c.link.query(ctx, statement, args, func(rows *sql.Rows) error {
		var i instrument
		if err := rows.Scan(&i.name, &i.enabled, &i.timed); err != nil {
			return err
		}
		off = append(off, i)
		return nil
	})
	return off, err
}

// cannotSwitch notes what stays off. The statement names exactly the rows.
func (c *Collector) cannotSwitch(ctx context.Context, table string, names []string, update string) {
	account := c.account(ctx)
	c.notes.Add("database: %d rows of %s are off and %s may not switch them on, so that some waits are inferred or missing; run as an administrator: %s; -- or: GRANT UPDATE ON performance_schema.%s TO %s;",
		len(names), table, account, update, table, account)
}

// readable turns a refused read of performance_schema into what to run.
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

// account is the user as a GRANT names it.
func (c *Collector) account(ctx context.Context) string {
	account := ""
	err := c.link.query(ctx, "SELECT CURRENT_USER()", nil, func(rows *sql.Rows) error { return rows.Scan(&account) })
	at := strings.LastIndexByte(account, '@')
	if err != nil || at < 0 {
		return "the user"
	}
	return quote(account[:at]) + "@" + quote(account[at+1:])
}

func namesOf(rows []instrument) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	return names
}

// list writes names of instruments as an SQL list. They come from the server
// or from our own tables.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// quote writes an SQL string; doubling the quote is right in every SQL mode.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
