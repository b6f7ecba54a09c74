package k6

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/go-sql-driver/mysql" // the driver that k6/x/sql/driver/mysql names
	"github.com/grafana/xk6-sql/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// databaseBytesSent counts the bytes that k6/x/sql has sent: it does not use the VU's
// dialer, and k6 has no metric of them. Without them, a scenario that only uses SQL
// would seem to send nothing.
var databaseBytesSent atomic.Int64

// registerSQL registers the drivers that k6/x/sql offers to scripts.
func registerSQL() {
	for _, network := range []string{"tcp", "unix"} {
		mysql.RegisterDialContext(network, func(ctx context.Context, address string) (net.Conn, error) {
			return dialCounted(ctx, network, address)
		})
	}
	sql.RegisterModule("mysql")
	// Under the name that k6/x/sql/driver/postgres looks for.
	dbsql.Register("postgres", postgres{})
	sql.RegisterModule("postgres")
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
	databaseBytesSent.Add(int64(n))
	return n, err
}

// postgres is pgx's driver, with counted connections.
type postgres struct{}

func (postgres) Open(name string) (driver.Conn, error) {
	c, err := postgres{}.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

func (postgres) OpenConnector(name string) (driver.Connector, error) {
	config, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	config.DialFunc = dialCounted
	return stdlib.GetConnector(*config), nil
}
