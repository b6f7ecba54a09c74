package sql

import (
	"cmp"
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql" // the driver that k6/x/sql/driver/mysql names
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.k6.io/k6/v2/js/modules"

	"assay.dev/assay/internal/load/sql/xk6sql"
)

// bytesSent counts the bytes that scripts have sent to databases: SQL does not use the
// VU's dialer, and k6 has no metric of them. Without them, a scenario that only uses SQL
// would seem to send nothing.
var bytesSent atomic.Int64

// TakeBytesSent returns the number of bytes that scripts have sent to databases since the
// last call.
func TakeBytesSent() int64 { return bytesSent.Swap(0) }

// Register registers the drivers that k6/x/sql offers to scripts, and our own module.
func Register() {
	for _, network := range []string{"tcp", "unix"} {
		mysql.RegisterDialContext(network, func(ctx context.Context, address string) (net.Conn, error) {
			return dialCounted(ctx, network, address)
		})
	}
	// Under the name that k6/x/sql/driver/postgres looks for.
	dbsql.Register("postgres", pgxDriver{})
	xk6sql.Register("mysql", "postgres")
	modules.Register(ImportPath, root{})
}

func dialCounted(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
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
	return postgresConnector(name, "")
}

// execMode is the parameter of a DSN that says how statements are executed. Without it a
// statement takes one round trip, as a prepared one does, and leaves none prepared in the
// session: a script may go through a pooler, which would pass it on to other clients.
const execMode = "default_query_exec_mode"

// postgresConnector connects to a database other than the DSN's unless it is empty.
func postgresConnector(dsn, schema string) (driver.Connector, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	config.Database = cmp.Or(schema, config.Database)
	config.DialFunc = dialCounted
	if !strings.Contains(dsn, execMode) {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return stdlib.GetConnector(*config), nil
}
