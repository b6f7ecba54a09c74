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
