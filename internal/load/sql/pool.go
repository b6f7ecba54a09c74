package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	mysqldriver "github.com/go-sql-driver/mysql"
	"go.k6.io/k6/v2/js/modules"

	"assay.dev/assay/internal/load/reach"
	"assay.dev/assay/internal/load/sql/xk6sql"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/database"
)

// pooled is a pool of connections; one of a single connection is a connection.
type pooled struct {
	*dbsql.DB
	dialect *database.Dialect
}

var (
	openMu sync.Mutex
	opened = map[*pooled]bool{}   // not yet closed
	shared = map[string]*pooled{} // by their parameters
)

// openPool prepares a pool, which connects when a connection is taken. Its errors never
// hold the password.
func openPool(dsn, schema string, most int) (*pooled, error) {
	connector, dialect, err := connectorOf(dsn, schema)
	if err != nil {
		return nil, err
	}
	p := &pooled{dbsql.OpenDB(once{connector}), dialect}
	p.SetMaxOpenConns(most)
	p.SetMaxIdleConns(most)
	openMu.Lock()
	defer openMu.Unlock()
	opened[p] = true
	return p, nil
}

// sharedPool returns the process's pool with these parameters.
func sharedPool(dsn, schema string, most int) (*pooled, error) {
	key := fmt.Sprintf("%s\n%s\n%d", dsn, schema, most)
	openMu.Lock()
	p := shared[key]
	openMu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := openPool(dsn, schema, most)
	if err != nil {
		return nil, err
	}
	openMu.Lock()
	defer openMu.Unlock()
	if first := shared[key]; first != nil { // another VU has opened the pool meanwhile
		delete(opened, p)
		return first, p.DB.Close()
	}
	shared[key] = p
	return p, nil
}

// close closes the connections, which waits for statements that are running.
func (p *pooled) close() {
	openMu.Lock()
	delete(opened, p)
	for key, s := range shared {
		if s == p {
			delete(shared, key)
		}
	}
	openMu.Unlock()
	_ = p.DB.Close() // what is closed has no further use
}

// CloseAll closes all connections that scripts have opened and not closed.
func CloseAll() {
	openMu.Lock()
	all := opened
	opened, shared = map[*pooled]bool{}, map[string]*pooled{}
	openMu.Unlock()
	for p := range all {
		_ = p.DB.Close()
	}
}

// connectorOf returns the connector and the dialect for a DSN.
func connectorOf(dsn, schema string) (driver.Connector, *database.Dialect, error) {
	if dsn == "" {
		return nil, nil, errors.New("the DSN is empty")
	}
	of := databases.Of(dsn)
	if _, err := of.Parse(dsn); err != nil {
		return nil, nil, errors.New("not a DSN: want one like " + databases.PublicExamples())
	}
	c, err := of.Connector(dsn, schema, dialCounted)
	return c, of.Dialect(), err
}

// once connects once: database/sql would try again after driver.ErrBadConn, and a failed
// opening would be measured as the sum of three.
type once struct{ driver.Connector }

func (c once) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if errors.Is(err, driver.ErrBadConn) {
		err = fmt.Errorf("connection lost during the handshake: %w", io.ErrUnexpectedEOF)
	}
	return conn, err
}

// bytesSent counts the bytes that scripts have sent to databases: SQL does not use the
// VU's dialer, and k6 has no metric of them. Without them, a scenario that only uses SQL
// would seem to send nothing.
var bytesSent atomic.Int64

// TakeBytesSent returns the number of bytes that scripts have sent to databases since the
// last call.
func TakeBytesSent() int64 { return bytesSent.Swap(0) }

// Register registers the drivers that k6/x/sql offers to scripts, and our own module. sends
// notes that a VU, by its number, sends something.
func Register(sends func(vu uint64)) {
	for _, network := range []string{"tcp", "unix"} {
		mysqldriver.RegisterDialContext(network, func(ctx context.Context, address string) (net.Conn, error) {
			return dialCounted(ctx, network, address)
		})
	}
	// Under the name that k6/x/sql/driver/postgres looks for.
	dbsql.Register("postgres", pgxDriver{})
	xk6sql.Register(sends, reporter, "mysql", "postgres")
	modules.Register(ImportPath, root{sends})
}

func dialCounted(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if to, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) == nil {
			reach.Of.Named(host, to.AddrPort().Addr())
		}
		reach.Of.Connect(to.AddrPort())
	}
	switch c := conn.(type) {
	case *net.TCPConn: // embedded with all its methods, as the driver uses the socket
		return &countedTCP{c}, nil
	case *net.UnixConn:
		return &countedUnix{c}, nil
	}
	return conn, nil
}

type countedTCP struct{ *net.TCPConn }

func (c *countedTCP) Write(b []byte) (int, error) { return counted(c.TCPConn.Write(b)) }

type countedUnix struct{ *net.UnixConn }

func (c *countedUnix) Write(b []byte) (int, error) { return counted(c.UnixConn.Write(b)) }

func counted(n int, err error) (int, error) {
	bytesSent.Add(int64(n))
	return n, err
}

// pgxDriver is pgx's driver, with counted connections.
type pgxDriver struct{}

func (pgxDriver) Open(name string) (driver.Conn, error) {
	c, err := pgxDriver{}.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

func (pgxDriver) OpenConnector(name string) (driver.Connector, error) {
	return postgres.Driver{}.Connector(name, "", dialCounted)
}
