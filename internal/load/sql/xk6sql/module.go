// SPDX-License-Identifier: Apache-2.0

package xk6sql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"
)

// drivers are the names of the registered drivers, by what their modules export. All are
// registered before the first script runs.
var drivers = map[*sobek.Symbol]string{}

// Reporter makes, for the database of a DSN, what is called after each statement of a VU.
type Reporter func(dsn string) func(vu modules.VU, err error)

// Register registers the module k6/x/sql, and one for each named driver of database/sql.
// The default export of a driver's module is what open() takes. sends notes that a VU, by its
// number, sends something.
func Register(sends func(vu uint64), reporter Reporter, names ...string) {
	modules.Register("k6/x/sql", rootModule{sends, reporter})
	for _, name := range names {
		id := sobek.NewSymbol(name)
		drivers[id] = name
		modules.Register("k6/x/sql/driver/"+name, driverModule{id})
	}
}

// driverModule is the module of a driver, for all VUs.
type driverModule struct{ id *sobek.Symbol }

// NewModuleInstance makes the module of a VU.
func (m driverModule) NewModuleInstance(modules.VU) modules.Instance { return m }

// Exports are the exports of the module.
func (m driverModule) Exports() modules.Exports { return modules.Exports{Default: m.id} }

// rootModule is the module of all VUs.
type rootModule struct {
	sends    func(vu uint64)
	reporter Reporter
}

// NewModuleInstance makes the module of a VU.
func (r rootModule) NewModuleInstance(vu modules.VU) modules.Instance { return &module{r, vu} }

// module is the module of one VU.
type module struct {
	rootModule
	vu modules.VU
}

// Exports are the exports of the module.
func (m *module) Exports() modules.Exports {
	return modules.Exports{Default: m, Named: map[string]any{"open": m.Open}}
}

// driverOf is the driver that a value names; false: it names none. Go hands a symbol to a script
// as an object.
func driverOf(value sobek.Value) (name string, known bool) {
	if o, ok := value.(*sobek.Object); ok {
		if valueOf, ok := sobek.AssertFunction(o.Get("valueOf")); ok {
			value, _ = valueOf(o)
		}
	}
	id, _ := value.(*sobek.Symbol)
	name, known = drivers[id]
	return name, known
}

// Open opens a database.
func (m *module) Open(driver sobek.Value, dsn string, o *options) (*Database, error) {
	name, known := driverOf(driver)
	if !known {
		return nil, errors.New("unsupported database: invalid driver parameter type")
	}
	db, err := sql.Open(name, dsn)
	if err == nil && o != nil {
		err = o.apply(db)
	}
	if err != nil {
		return nil, err
	}
	return &Database{db, m.vu, m.sends, m.reporter(dsn)}, nil
}

// Database is a pool of connections.
type Database struct {
	db     *sql.DB
	vu     modules.VU
	sends  func(vu uint64)
	report func(modules.VU, error)
}

// sending is the context of a statement, which is about to be sent.
func (d *Database) sending() context.Context {
	if state := d.vu.State(); state != nil { // nil: in the init context
		d.sends(state.VUID)
	}
	return d.vu.Context()
}

// Query returns the rows of a statement.
func (d *Database) Query(query string, args ...any) ([]map[string]any, error) {
	return d.query(d.sending(), query, args)
}

// QueryWithTimeout is Query within a time, like "10s".
func (d *Database) QueryWithTimeout(timeout, query string, args ...any) (rows []map[string]any, err error) {
	err = d.within(timeout, func(ctx context.Context) (err error) { rows, err = d.query(ctx, query, args); return err })
	return rows, err
}

// Exec executes a statement without rows.
func (d *Database) Exec(query string, args ...any) (sql.Result, error) {
	return d.exec(d.sending(), query, args)
}

// ExecWithTimeout is Exec within a time, like "10s".
func (d *Database) ExecWithTimeout(timeout, query string, args ...any) (r sql.Result, err error) {
	err = d.within(timeout, func(ctx context.Context) (err error) { r, err = d.exec(ctx, query, args); return err })
	return r, err
}

func (d *Database) exec(ctx context.Context, query string, args []any) (sql.Result, error) {
	r, err := d.db.ExecContext(ctx, query, args...)
	d.report(d.vu, err)
	return r, err
}

// Close closes the connections.
func (d *Database) Close() error { return d.db.Close() }

func (d *Database) within(timeout string, do func(context.Context) error) error {
	limit, err := time.ParseDuration(timeout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.sending(), limit)
	defer cancel()
	return do(ctx)
}

func (d *Database) query(ctx context.Context, query string, args []any) (all []map[string]any, err error) {
	defer func() { d.report(d.vu, err) }()
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	all = []map[string]any{}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			row[name] = values[i]
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// options are those of open.
type options struct {
	ConnMaxIdleTime, ConnMaxLifetime, MaxIdleConns, MaxOpenConns sobek.Value
}

func (o *options) apply(db *sql.DB) error {
	for _, c := range []struct {
		given sobek.Value
		set   func(time.Duration)
	}{{o.ConnMaxIdleTime, db.SetConnMaxIdleTime}, {o.ConnMaxLifetime, db.SetConnMaxLifetime}} {
		if c.given == nil {
			continue
		}
		d, err := time.ParseDuration(c.given.String())
		if err != nil {
			return err
		}
		c.set(d)
	}
	if o.MaxIdleConns != nil {
		db.SetMaxIdleConns(int(o.MaxIdleConns.ToInteger()))
	}
	if o.MaxOpenConns != nil {
		db.SetMaxOpenConns(int(o.MaxOpenConns.ToInteger()))
	}
	return nil
}
