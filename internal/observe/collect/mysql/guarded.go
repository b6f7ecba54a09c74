package mysql

import (
	"context"
	dbdriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"assay.dev/assay/internal/foreign"
)

// The driver panics at some answers that no server gives. It is guarded where it is called,
// and not where its callers are: database/sql calls it in goroutines of its own too, and
// keeps locks for ever if a panic passes through it.

// driverConn is what a connection of the driver can do.
type driverConn interface {
	dbdriver.Conn
	dbdriver.ConnBeginTx
	dbdriver.ConnPrepareContext
	dbdriver.ExecerContext
	dbdriver.NamedValueChecker
	dbdriver.Pinger
	dbdriver.QueryerContext
	dbdriver.SessionResetter
	dbdriver.Validator
}

// driverRows is what rows of the driver can do.
type driverRows interface {
	dbdriver.RowsNextResultSet
	dbdriver.RowsColumnTypeDatabaseTypeName
	dbdriver.RowsColumnTypeNullable
	dbdriver.RowsColumnTypePrecisionScale
	dbdriver.RowsColumnTypeScanType
}

// driverStmt is what a statement of the driver can do.
type driverStmt interface {
	dbdriver.Stmt
	dbdriver.NamedValueChecker
	dbdriver.StmtExecContext
	dbdriver.StmtQueryContext
}

// guarded is a connection whose panics are errors.
type guarded struct{ driverConn }

// call calls the driver. After a panic the connection is closed: nothing more is read from it.
func call[T any](conn driverConn, do func() (T, error)) (_ T, err error) {
	defer func() {
		if errors.Is(err, foreign.ErrUnreadable) {
			_ = conn.Close()
		}
	}()
	defer foreign.Guard(&err)
	return do()
}

// attempt is call without a result.
func attempt(conn driverConn, do func() error) error {
	_, err := call(conn, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (g guarded) QueryContext(ctx context.Context, query string, args []dbdriver.NamedValue) (dbdriver.Rows, error) {
	return g.rows(func() (dbdriver.Rows, error) { return g.driverConn.QueryContext(ctx, query, args) })
}

func (g guarded) rows(query func() (dbdriver.Rows, error)) (dbdriver.Rows, error) {
	rows, err := call(g.driverConn, query)
	if err != nil {
		return nil, err
	}
	return guardedRows{rows.(driverRows), g.driverConn}, nil
}

func (g guarded) ExecContext(ctx context.Context, query string, args []dbdriver.NamedValue) (dbdriver.Result, error) {
	return call(g.driverConn, func() (dbdriver.Result, error) { return g.driverConn.ExecContext(ctx, query, args) })
}

func (g guarded) PrepareContext(ctx context.Context, query string) (dbdriver.Stmt, error) {
	stmt, err := call(g.driverConn, func() (dbdriver.Stmt, error) { return g.driverConn.PrepareContext(ctx, query) })
	if err != nil {
		return nil, err
	}
	return guardedStmt{stmt.(driverStmt), g}, nil
}

func (g guarded) BeginTx(ctx context.Context, opts dbdriver.TxOptions) (dbdriver.Tx, error) {
	tx, err := call(g.driverConn, func() (dbdriver.Tx, error) { return g.driverConn.BeginTx(ctx, opts) })
	if err != nil {
		return nil, err
	}
	return guardedTx{tx, g.driverConn}, nil
}

func (g guarded) Ping(ctx context.Context) error {
	return attempt(g.driverConn, func() error { return g.driverConn.Ping(ctx) })
}

func (g guarded) ResetSession(ctx context.Context) error {
	return attempt(g.driverConn, func() error { return g.driverConn.ResetSession(ctx) })
}

type guardedRows struct {
	driverRows
	conn driverConn
}

func (r guardedRows) Next(row []dbdriver.Value) error {
	return attempt(r.conn, func() error { return r.driverRows.Next(row) })
}
func (r guardedRows) NextResultSet() error { return attempt(r.conn, r.driverRows.NextResultSet) }
func (r guardedRows) Close() error         { return attempt(r.conn, r.driverRows.Close) }

type guardedStmt struct {
	driverStmt
	conn guarded
}

func (s guardedStmt) QueryContext(ctx context.Context, args []dbdriver.NamedValue) (dbdriver.Rows, error) {
	return s.conn.rows(func() (dbdriver.Rows, error) { return s.driverStmt.QueryContext(ctx, args) })
}

func (s guardedStmt) ExecContext(ctx context.Context, args []dbdriver.NamedValue) (dbdriver.Result, error) {
	return call(s.conn.driverConn, func() (dbdriver.Result, error) { return s.driverStmt.ExecContext(ctx, args) })
}

type guardedTx struct {
	dbdriver.Tx
	conn driverConn
}

func (t guardedTx) Commit() error   { return attempt(t.conn, t.Tx.Commit) }
func (t guardedTx) Rollback() error { return attempt(t.conn, t.Tx.Rollback) }

// socket is a connection of the network, of any kind.
type socket interface {
	net.Conn
	syscall.Conn
}

// bounded is a connection whose other side cannot announce columns by the billion: the driver
// makes room for all of them at once, and no guard helps a process without memory. What TLS or
// compression hides is not looked at.
type bounded struct {
	socket
	loggedIn *atomic.Bool // until then an answer of this form asks to log in otherwise
	opaque   bool         // TLS or compression hides the content
	header   []byte       // header of a packet, as far as it has arrived
	body     int          // bytes of a packet that are still to come
	first    bool         // the next one is the first of an answer's part
	size     int          // size of the packet
}

const (
	headerSize = 4
	// longest is the size of a packet that is continued by the next.
	longest = 1<<24 - 1
	// manyColumns begins a packet that has a number of columns in eight bytes.
	manyColumns, manySize = 0xfe, 9
	// After these flags of the client, what is sent is no longer packets.
	compressFlag, tlsFlag = 1 << 5, 1 << 11
)

var errColumns = errors.New("the server announces more columns than a table can have")

// dialBounded dials. loggedIn becomes true when the driver has connected.
func dialBounded(loggedIn *atomic.Bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &bounded{socket: conn.(socket), loggedIn: loggedIn}, nil
	}
}

func (c *bounded) Write(b []byte) (int, error) {
	if !c.loggedIn.Load() && len(b) >= headerSize+4 && b[3] == 1 && binary.LittleEndian.Uint32(b[headerSize:])&(compressFlag|tlsFlag) != 0 {
		c.opaque = true
	}
	return c.socket.Write(b)
}

func (c *bounded) Read(b []byte) (int, error) {
	n, err := c.socket.Read(b)
	for rest := b[:n]; len(rest) > 0 && !c.opaque; {
		if c.body > 0 {
			if c.first && rest[0] == manyColumns && c.size >= manySize && c.size < longest && c.loggedIn.Load() {
				return 0, errColumns
			}
			c.first = false
			done := min(c.body, len(rest))
			c.body, rest = c.body-done, rest[done:]
			continue
		}
		missing := min(headerSize-len(c.header), len(rest))
		c.header, rest = append(c.header, rest[:missing]...), rest[missing:]
		if len(c.header) == headerSize {
			c.first = c.size < longest
			c.size = int(c.header[0]) | int(c.header[1])<<8 | int(c.header[2])<<16
			c.body, c.header = c.size, c.header[:0]
		}
	}
	return n, err
}
