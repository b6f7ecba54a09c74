package change

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/harness/observe/database"
	"assay/harness/spec"
)

// connection is one to the database that is changed.
type connection struct{ db *database.DB }

// errNotMySQL is told of what another family has not.
var errNotMySQL = &Unknown{}

// Unknown is a change that the database's family does not know.
type Unknown struct{}

func (*Unknown) Error() string {
	return "global variables and readers of the binlog are MySQL's and MariaDB's"
}

// Hint is what a variant may do instead.
func (*Unknown) Hint() string {
	return "write statements and their reverse under \"sql\", like ALTER SYSTEM SET and RESET, with SELECT pg_reload_conf()"
}

// global is a variable as it was.
type global struct {
	name   string
	was    string
	number bool // the server takes a number, and no text
}

// globals reads the variables that settings are going to change.
func (c connection) globals(ctx context.Context, settings []spec.Setting) (all []global, err error) {
	if len(settings) > 0 && c.db.Family != database.MySQL {
		return nil, errNotMySQL
	}
	for _, s := range settings {
		g := global{name: s.Name}
		rows, err := c.db.QueryContext(ctx, "SELECT @@GLOBAL."+s.Name)
		if err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", s.Name, said(err))
		}
		if err := g.scan(rows); err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", s.Name, err)
		}
		all = append(all, g)
	}
	return all, nil
}

// settable finds variables that are none, or may not be set, by setting them to
// what they are.
func (c connection) settable(ctx context.Context, settings []spec.Setting) error {
	was, err := c.globals(ctx, settings)
	if err != nil {
		return err
	}
	for _, g := range was {
		if err := c.exec(ctx, g.set(g.was)); err != nil {
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
		return errors.Join(errors.New("no answer"), rows.Err())
	}
	var value sql.NullString
	if err := rows.Scan(&value); err != nil {
		return err
	}
	if !value.Valid {
		return errors.New("it has no value that could be set again")
	}
	kind := types[0].DatabaseTypeName()
	g.number = strings.Contains(kind, "INT") || kind == "DOUBLE" || kind == "DECIMAL" || kind == "FLOAT"
	g.was = value.String
	return rows.Err()
}

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// set is the statement that gives the variable a value.
func (g global) set(value string) string {
	if !g.number || !numeral.MatchString(value) {
		value = "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(value) + "'"
	}
	return "SET GLOBAL " + g.name + " = " + value
}

// ending is what tells the connection that a statement is executed on, and ends
// the statement from another.
var ending = map[database.Family]struct{ id, kill string }{
	database.MySQL:      {"SELECT CONNECTION_ID()", "KILL QUERY %d"},
	database.PostgreSQL: {"SELECT pg_backend_pid()", "SELECT pg_cancel_backend(%d)"},
}

// endPatience is how long a statement may take to end that was killed.
const endPatience = 30 * time.Second

// exec executes a statement. Where ctx ends first the statement is ended in the
// server and waited for: it must not take effect once it was taken back.
func (c connection) exec(ctx context.Context, statement string) error {
	err := c.execute(ctx, statement)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", statement, said(err))
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
	if err := one.QueryRowContext(ctx, ending[c.db.Family].id).Scan(&id); err != nil {
		return err
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := one.ExecContext(lasting, statement)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	time.AfterFunc(endPatience, cancel)
	kill, done := context.WithTimeout(lasting, endPatience)
	defer done()
	_, err = c.db.ExecContext(kill, fmt.Sprintf(ending[c.db.Family].kill, id))
	return errors.Join(<-ended, err)
}

// binlog checks that there is one to read.
func (c connection) binlog(ctx context.Context) error {
	if c.db.Family != database.MySQL {
		return errNotMySQL
	}
	var on string
	if err := c.db.QueryRowContext(ctx, "SELECT @@GLOBAL.log_bin").Scan(&on); err != nil {
		return fmt.Errorf("read the variable log_bin: %w", said(err))
	}
	if on != "1" && !strings.EqualFold(on, "ON") {
		return errors.New("the database writes no binlog that could be read")
	}
	return nil
}

// refused are errors for which a right is missing: access denied, in its forms.
var refused = map[uint16]bool{1044: true, 1045: true, 1142: true, 1227: true}

// answered reports whether the server itself has refused.
func answered(err error) bool {
	var denied *Denied
	var refused *mysql.MySQLError
	var answer *pgconn.PgError
	return errors.As(err, &denied) || errors.As(err, &refused) || errors.As(err, &answer)
}

// insufficientPrivilege is PostgreSQL's state of the same.
const insufficientPrivilege = "42501"

// said is what the server says, with what to grant where it refuses.
func said(err error) error {
	var e *mysql.MySQLError
	if errors.As(err, &e) && refused[e.Number] {
		return &Denied{e.Message, "GRANT SYSTEM_VARIABLES_ADMIN, REPLICATION SLAVE, REPLICATION CLIENT ON *.* (MariaDB: SUPER, REPLICATION SLAVE, BINLOG MONITOR)"}
	}
	var p *pgconn.PgError
	if errors.As(err, &p) && p.Code == insufficientPrivilege {
		return &Denied{p.Message, "see the manual of the statement"}
	}
	return err
}

// Denied is a change for which the database's user has no right.
type Denied struct{ Message, grant string }

func (d *Denied) Error() string { return d.Message }

// Hint is what the user needs.
func (d *Denied) Hint() string {
	return "ASSAY_DB needs a user who may do this: " + d.grant
}
