package tpcc

import (
	"database/sql"
	"errors"
	"fmt"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/database"
)

// The specification's scale of a warehouse (clause 1.2).
const (
	Districts     = 10      // districts of a warehouse
	FullItems     = 100_000 // items of all warehouses together
	FullCustomers = 3000    // customers of a district, each with one order
)

// DefaultSchema is the schema that scenarios/tpcc.js uses.
const DefaultSchema = "tpcc"

// maxWarehouses bounds a load; a warehouse takes about 100 MB.
const maxWarehouses = 10_000

// Scale is how much is loaded.
type Scale struct {
	Warehouses int
	Items      int    // FullItems, or fewer
	Customers  int    // customers of a district: FullCustomers, or fewer
	Seed       uint64 // the same scale and seed give the same rows
}

// Full reports whether warehouses have the specification's size.
func (s Scale) Full() bool { return s.Items == FullItems && s.Customers == FullCustomers }

// Check refuses a scale that transactions could not run on.
func (s Scale) Check() error {
	switch {
	case s.Warehouses < 1 || s.Warehouses > maxWarehouses:
		return fmt.Errorf("%d warehouses: want 1 to %d", s.Warehouses, maxWarehouses)
	case s.Items < 100 || s.Items > FullItems:
		return fmt.Errorf("%d items: want 100 to %d", s.Items, FullItems)
	case s.Customers < 10 || s.Customers > FullCustomers:
		return fmt.Errorf("%d customers a district: want 10 to %d", s.Customers, FullCustomers)
	}
	return nil
}

// delivered is the number of the last delivered order of a district: 30 % are new.
func (s Scale) delivered() int { return s.Customers - s.Customers*3/10 }

// names is the number of different last names (clause 4.3.3.1: 1000).
func (s Scale) names() int { return min(1000, s.Customers) }

// Rows is about how many rows are loaded.
func (s Scale) Rows() int {
	perDistrict := s.Customers*2 + s.Customers + s.Customers*10 + (s.Customers - s.delivered())
	return s.Items + s.Warehouses*(1+s.Items+Districts*(1+perDistrict))
}

// Open opens the server at a DSN, whose schema does not matter. It does not connect.
func Open(dsn string) (*sql.DB, error) {
	if _, ok := databases.Of(dsn).(mysql.Driver); !ok {
		return nil, hint.With(errors.New("tpcc is for MySQL and MariaDB"), "name one like "+mysql.Driver{}.Dialect().Example)
	}
	c, err := mysql.Config(dsn)
	if err != nil {
		return nil, err
	}
	c.DBName, c.InterpolateParams, c.Timeout = "", true, database.ConnectTimeout
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("read DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(concurrent)
	db.SetMaxIdleConns(concurrent)
	return db, nil
}
