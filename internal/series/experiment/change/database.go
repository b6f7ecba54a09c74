package change

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/spec"
)

// connection is an open connection to the database to change.
type connection struct{ db *database.DB }

// errNoVariables is returned if the database has no SET GLOBAL and no binlog.
var errNoVariables = hint.With(
	errors.New("\"global\" and \"binlog_readers\" need MySQL or MariaDB"),
	"use \"sql\" with statements and their reverse, like ALTER SYSTEM SET and RESET, with SELECT pg_reload_conf()",
)

// global is a variable with its value before the change.
type global struct {
	*database.Variables
	name   string
	before string
	number bool // the server refuses a quoted value
}

// globals reads the variables that the settings change.
func (c connection) globals(ctx context.Context, settings []spec.Setting) (all []global, err error) {
	variables := c.db.Dialect.Variables
	if len(settings) > 0 && variables == nil {
		return nil, errNoVariables
	}
	for _, s := range settings {
		g := global{Variables: variables, name: s.Name}
		rows, err := c.db.QueryContext(ctx, fmt.Sprintf(variables.ReadFormat, s.Name))
		if err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", s.Name, c.withRights(err))
		}
		if err := g.scan(rows); err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", s.Name, err)
		}
		all = append(all, g)
	}
	return all, nil
}

// settable checks that the variables exist and may be set, by setting them to their
// present values.
func (c connection) settable(ctx context.Context, settings []spec.Setting) error {
	variables, err := c.globals(ctx, settings)
	if err != nil {
		return err
	}
	for _, g := range variables {
		if err := c.exec(ctx, g.set(g.before)); err != nil {
			return err
		}
	}
	return nil
}

func (g *global) scan(rows *sql.Rows) error {
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if !rows.Next() {
		return errors.Join(errors.New("no row"), rows.Err())
	}
	var value sql.NullString
	if err := rows.Scan(&value); err != nil {
		return err
	}
	if !value.Valid {
		return errors.New("its value is NULL, which cannot be restored")
	}
	kind := types[0].DatabaseTypeName()
	g.number = strings.Contains(kind, "INT") || kind == "DOUBLE" || kind == "DECIMAL" || kind == "FLOAT"
	g.before = value.String
	return rows.Err()
}

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func (g global) set(value string) string {
	if !g.number || !numeral.MatchString(value) {
		value = g.Quote(value)
	}
	return fmt.Sprintf(g.SetFormat, g.name, value)
}

const cancelTimeout = 30 * time.Second

// exec executes a statement. If ctx ends first, the statement is cancelled in the
// server and waited for: it must not take effect after the change was reverted.
func (c connection) exec(ctx context.Context, statement string) error {
	err := c.execute(ctx, statement)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", statement, c.withRights(err))
	}
	return nil
}

func (c connection) execute(ctx context.Context, statement string) error {
	one, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = one.Close() }()
	var id int64
	if err := one.QueryRowContext(ctx, c.db.Dialect.SessionIDQuery).Scan(&id); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	crash.Go(func() {
		_, err := one.ExecContext(background, statement)
		ended <- err
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	time.AfterFunc(cancelTimeout, cancel)
	kill, done := context.WithTimeout(background, cancelTimeout)
	defer done()
	_, err = c.db.ExecContext(kill, fmt.Sprintf(c.db.Dialect.CancelFormat, id))
	return errors.Join(<-ended, err)
}

func (c connection) checkBinlog(ctx context.Context) error {
	variables := c.db.Dialect.Variables
	if variables == nil {
		return errNoVariables
	}
	var on string
	if err := c.db.QueryRowContext(ctx, variables.BinlogQuery).Scan(&on); err != nil {
		return fmt.Errorf("check for a binlog: %w", c.withRights(err))
	}
	if on != "1" && !strings.EqualFold(on, "ON") {
		return errors.New("the database writes no binlog")
	}
	return nil
}

// answered reports whether an error was returned by the server, which has then
// refused the statement.
func (c connection) answered(err error) bool {
	var a database.ServerError
	_, ok := c.db.Dialect.ServerError(err)
	return ok || errors.As(err, &a)
}

// withRights adds the missing privileges as a hint, if that is why the server refused.
func (c connection) withRights(err error) error {
	a, _ := c.db.Dialect.ServerError(err)
	if a.Condition != database.Denied {
		return err
	}
	return hint.With(a, "set ASSAY_DB to a user with the required privileges: "+c.db.Dialect.ChangeRights)
}
