package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/observe/database"
)

// Connection is a connection of one VU. It is never replaced: once it is lost, every
// statement fails. Methods throw their errors.
type Connection struct {
	module *module
	db     *pooled
	conn   *dbsql.Conn
	o      options
	close  func() // closes the pool; nil: it is not the connection's own
	begun  bool   // by Begin or Transaction, and neither committed nor rolled back
}

// connect takes a connection of a pool.
func (m *module) connect(what string, db *pooled, o options, closePool func()) *Connection {
	if m.vu.State() == nil {
		m.throw(fmt.Errorf("%s: not in the init context: connect in setup(), in the default function or in teardown()", what))
	}
	c := &Connection{module: m, db: db, o: o, close: closePool}
	c.measure(m.metrics.connecting, what, func(ctx context.Context) (err error) {
		c.conn, err = db.Conn(ctx)
		if err != nil && closePool != nil {
			closePool()
		}
		return err
	})
	return c
}

// Close closes the connection, or gives it back to its pool. A transaction that was begun is
// not left to the next user of the pool: then the connection is closed.
func (c *Connection) Close() {
	if c.begun {
		_ = c.conn.Raw(func(any) error { return driver.ErrBadConn }) // has the pool discard it
	}
	_ = c.conn.Close() // what is closed has no further use
	if c.close != nil {
		c.close()
	}
}

// Exec runs a statement without rows.
func (c *Connection) Exec(statement string, args ...sobek.Value) *sobek.Object {
	return c.exec("exec", statement, args)
}

// Query runs a statement, and returns its rows as objects.
func (c *Connection) Query(statement string, args ...sobek.Value) *sobek.Object {
	return c.query(func(ctx context.Context) (*dbsql.Rows, error) {
		return c.conn.QueryContext(ctx, c.db.dialect.Bind(statement), exported(args)...)
	})
}

// Begin begins a transaction.
func (c *Connection) Begin() {
	c.begun = true
	c.exec("begin", "BEGIN", nil)
}

// Commit commits the transaction. If the connection is lost meanwhile, nobody knows
// whether it was.
func (c *Connection) Commit() {
	c.exec("commit", "COMMIT", nil)
	c.begun = false
}

// Rollback rolls the transaction back.
func (c *Connection) Rollback() {
	c.exec("rollback", "ROLLBACK", nil)
	c.begun = false
}

// Transaction calls do, with the connection, between begin and commit, and returns its
// result. If do throws, it rolls back and throws the same.
func (c *Connection) Transaction(do sobek.Callable) (sobek.Value, error) {
	c.Begin()
	result, err := do(sobek.Undefined(), c.module.vu.Runtime().ToValue(c))
	if err != nil {
		ctx, cancel := c.context()
		defer cancel()
		_, lost := c.conn.ExecContext(ctx, "ROLLBACK") // may be gone already
		c.begun = lost != nil
		return nil, err
	}
	c.Commit()
	return result, nil
}

// Prepare prepares a statement on the server.
func (c *Connection) Prepare(statement string) *Statement {
	s := &Statement{c: c}
	c.measure(c.module.metrics.duration, "prepare", func(ctx context.Context) (err error) {
		s.stmt, err = c.conn.PrepareContext(ctx, c.db.dialect.Bind(statement))
		return err
	})
	return s
}

// Statement is a prepared statement of one connection.
type Statement struct {
	c    *Connection
	stmt *dbsql.Stmt
}

// Exec runs the statement without rows.
func (s *Statement) Exec(args ...sobek.Value) *sobek.Object {
	return s.c.execute("exec", func(ctx context.Context) (dbsql.Result, error) { return s.stmt.ExecContext(ctx, exported(args)...) })
}

// Query runs the statement, and returns its rows as objects.
func (s *Statement) Query(args ...sobek.Value) *sobek.Object {
	return s.c.query(func(ctx context.Context) (*dbsql.Rows, error) { return s.stmt.QueryContext(ctx, exported(args)...) })
}

// Close forgets the statement.
func (s *Statement) Close() { _ = s.stmt.Close() }

func (c *Connection) exec(what, statement string, args []sobek.Value) *sobek.Object {
	return c.execute(what, func(ctx context.Context) (dbsql.Result, error) {
		return c.conn.ExecContext(ctx, c.db.dialect.Bind(statement), exported(args)...)
	})
}

// execute returns the number of rows that a statement affected, and, with MySQL, the
// first key that it generated.
func (c *Connection) execute(what string, send func(context.Context) (dbsql.Result, error)) *sobek.Object {
	result := c.module.vu.Runtime().NewObject()
	c.measure(c.module.metrics.duration, what, func(ctx context.Context) error {
		done, err := send(ctx)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err == nil {
			_ = result.Set("affected", n)
		}
		if id, err := done.LastInsertId(); err == nil {
			_ = result.Set("id", id)
		}
		return nil
	})
	return result
}

func (c *Connection) query(send func(context.Context) (*dbsql.Rows, error)) *sobek.Object {
	rt := c.module.vu.Runtime()
	var all []any
	c.measure(c.module.metrics.duration, "query", func(ctx context.Context) (err error) {
		rows, err := send(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(pointers...); err != nil {
				return err
			}
			row := rt.NewObject()
			for i, name := range columns {
				_ = row.Set(name, plain(values[i]))
			}
			all = append(all, row)
		}
		return rows.Err() // a deadlock may end a result after its columns
	})
	return rt.NewArray(all...)
}

// plain is a value as scripts want it.
func plain(value any) any {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999999")
	}
	return value
}

// exported are the arguments of a statement.
func exported(args []sobek.Value) []any {
	all := make([]any, len(args))
	for i, a := range args {
		if a != nil {
			all[i] = a.Export()
		}
	}
	return all
}

func (c *Connection) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.module.vu.Context(), c.o.timeout)
}

// measure does something with the connection, reports its time and failure, and throws
// the latter.
func (c *Connection) measure(of *metrics.Metric, what string, do func(context.Context) error) {
	ctx, cancel := c.context()
	defer cancel()
	c.module.sends(c.module.vu.State().VUID)
	began := time.Now()
	err := do(ctx)
	if err == nil {
		c.module.metrics.sent(c.module.vu, of, what, c.o.tags, began, nil)
		return
	}
	if ctx.Err() != nil { // the driver's error is only that of the connection, which it closed
		err = context.Cause(ctx)
	}
	failure := c.db.dialect.Classify(err)
	c.module.metrics.sent(c.module.vu, of, what, c.o.tags, began, &failure)
	rt := c.module.vu.Runtime()
	panic(thrown(rt, what, failure)) // how a Go function throws
}

// thrown is the Error that a script catches.
func thrown(rt *sobek.Runtime, what string, f database.Failure) sobek.Value {
	text := fmt.Sprintf("%s: %s: %s", what, f.Class, f.Message)
	if f.Code != "" {
		text = fmt.Sprintf("%s: %s (%s): %s", what, f.Class, f.Code, f.Message)
	}
	e, err := rt.New(rt.GlobalObject().Get("Error"), rt.ToValue(text))
	if err != nil {
		return rt.NewGoError(err)
	}
	_ = e.Set("class", f.Class)
	if n, err := strconv.Atoi(f.Code); err == nil && f.Code != f.State { // those of PostgreSQL are SQLSTATEs
		_ = e.Set("code", n)
	} else if f.Code != "" {
		_ = e.Set("code", f.Code)
	}
	_ = e.Set("state", f.State)
	_ = e.Set("rolledBack", f.RolledBack)
	return e
}
