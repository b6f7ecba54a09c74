package sql

import (
	"cmp"
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	mysqldriver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
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
	if first := shared[key]; first != nil { // of another VU, meanwhile
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

// connectorOf returns the connector and the dialect for a DSN. Arguments of MySQL's
// statements are interpolated by the driver, so that a statement takes one round trip.
func connectorOf(dsn, schema string) (driver.Connector, *database.Dialect, error) {
	if dsn == "" {
		return nil, nil, errors.New("the DSN is empty")
	}
	of := databases.Of(dsn)
	if _, err := of.Parse(dsn); err != nil {
		return nil, nil, errors.New("not a DSN: want one like " + databases.PublicExamples())
	}
	if _, ok := of.(postgres.Driver); ok {
		c, err := postgresConnector(dsn, schema)
		return c, of.Dialect(), err
	}
	c, err := mysql.Config(dsn)
	if err != nil {
		return nil, nil, err
	}
	c.InterpolateParams = true
	c.DBName = cmp.Or(schema, c.DBName)
	connector, err := mysqldriver.NewConnector(c)
	return connector, of.Dialect(), err
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
