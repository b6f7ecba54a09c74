package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	replicated "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/collect/mysql"
)

// position is the end of the binlog, and the server's flavour in the library's terms.
func position(ctx context.Context, dsn string) (p replicated.Position, flavour string, err error) {
	db, err := mysql.Driver{}.Open(dsn)
	if err != nil {
		return p, "", err
	}
	defer func() { _ = db.Close() }()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT @@version").Scan(&version); err != nil {
		return p, "", fmt.Errorf("read the database's version: %w", err)
	}
	flavour = replicated.MySQLFlavor
	if mysql.IsMariaDB(version) {
		flavour = replicated.MariaDBFlavor
	}
	// MySQL 8.4 and later have only the first; older versions and MariaDB the second.
	for _, q := range []string{"SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"} {
		var rows *sql.Rows
		if rows, err = db.QueryContext(ctx, q); err == nil {
			p, err = scan(rows)
			return p, flavour, err
		}
	}
	return p, "", fmt.Errorf("read the binlog's position: %w", err)
}

// scan reads file and position, which are the first two columns in every flavour.
func scan(rows *sql.Rows) (p replicated.Position, err error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return p, err
	}
	if !rows.Next() {
		return p, errors.Join(errors.New("the database writes no binlog"), rows.Err())
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	into[0], into[1] = &p.Name, &p.Pos
	if err := rows.Scan(into...); err != nil {
		return p, fmt.Errorf("read the binlog's position: %w", err)
	}
	return p, rows.Err()
}
