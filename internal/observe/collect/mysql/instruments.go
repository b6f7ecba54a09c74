package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// instrument switches on what is needed and off. It is called again after a reconnect: the
// server may have been restarted, or be another one. Where the server refuses to change the
// setup it continues and adds a note.
func (c *Collector) instrument(ctx context.Context) error {
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
	now, err := c.identity(ctx)
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

// identity is what tells the server from others, in words.
func (c *Collector) identity(ctx context.Context) (name string, err error) {
	err = c.link.query(ctx, "SELECT "+c.link.flavour.identity, nil, func(rows *sql.Rows) error { return rows.Scan(&name) })
	return name, err
}

// read reads which rows are needed and off, and which of them runs have switched on.
func (c *Collector) read(ctx context.Context, s setup) (missing, marked []string, err error) {
	if missing, err = c.names(ctx, s.readMissing()); err != nil {
		return nil, nil, c.readError("read "+s.table, err)
	}
	if marked, err = c.names(ctx, s.readMarked()); err != nil && !denied(err) {
		return nil, nil, fmt.Errorf("read setup_objects: %w", err)
	}
	return missing, marked, nil
}

func (c *Collector) names(ctx context.Context, query string) (all []string, err error) {
	err = c.link.query(ctx, query, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	})
	return all, err
}

// switchOn marks and switches on what is missing. refusal is why the server does not do
// all of it. Nothing is on then that is not marked.
func (c *Collector) switchOn(ctx context.Context, s setup) (refusal, err error) {
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
func (c *Collector) noteMissing(ctx context.Context, s setup, names []string, refusal error) {
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
func (c *Collector) readError(what string, err error) error {
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
func (c *Collector) account(ctx context.Context) string {
	account := ""
	err := c.link.query(ctx, "SELECT CURRENT_USER()", nil, func(rows *sql.Rows) error { return rows.Scan(&account) })
	at := strings.LastIndexByte(account, '@')
	if err != nil || at < 0 {
		return "the user"
	}
	return quote(account[:at]) + "@" + quote(account[at+1:])
}
