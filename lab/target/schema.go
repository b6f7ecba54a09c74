package target

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	code "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/lab/target/gateway"
)

//go:embed schema.sql
var schemaSQL string

// Accounts is the number of accounts of the schema, numbered from 1. With an even
// distribution payments seldom wait for a row: at 1,000 payments per second that lock a
// row for 5 ms each, the probability that a payment's account is locked is
// 1000 * 0.005 / 10,000 = 0.0005.
const Accounts = 10_000

// ensureSchema creates the database, the tables and the fixed rows, unless they exist.
// Several services may do so concurrently. withMessages adds the id of the message in Kafka
// to events; services without Kafka leave it NULL.
func ensureSchema(ctx context.Context, cfg *mysql.Config, withMessages bool) error {
	if cfg.DBName == "" {
		return errors.New("ASSAY_DB has no database name: append one, like /assay")
	}
	db, err := openOne(cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.PingContext(ctx); isServerError(err, code.ER_BAD_DB_ERROR) {
		if err := createDatabase(ctx, cfg); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	for create := range strings.SplitSeq(schemaSQL, ";\n") {
		if strings.TrimSpace(create) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, create); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	if withMessages {
		_, err := db.ExecContext(ctx, "ALTER TABLE events ADD COLUMN message BINARY(16) NULL, ADD UNIQUE KEY message (message)")
		if err != nil && !isServerError(err, code.ER_DUP_FIELDNAME) {
			return fmt.Errorf("add the column message to events: %w", err)
		}
	}
	return fillFixedRows(ctx, db)
}

func createDatabase(ctx context.Context, cfg *mysql.Config) error {
	server := cfg.Clone()
	server.DBName = ""
	db, err := openOne(server)
	if err != nil {
		return err
	}
	defer db.Close()
	name := "`" + strings.ReplaceAll(cfg.DBName, "`", "``") + "`"
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+name+" CHARACTER SET utf8mb4"); err != nil {
		return fmt.Errorf("create database %s: %w", cfg.DBName, err)
	}
	return nil
}

func openOne(cfg *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

func fillFixedRows(ctx context.Context, db *sql.DB) error {
	for mode, name := range gateway.Routes() {
		if _, err := db.ExecContext(ctx, "INSERT IGNORE INTO gateway_routes (mode, gateway) VALUES (?, ?)", mode, name); err != nil {
			return fmt.Errorf("fill gateway_routes: %w", err)
		}
	}
	var have int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM accounts").Scan(&have); err != nil {
		return fmt.Errorf("count accounts: %w", err)
	}
	if have >= Accounts {
		return nil
	}
	const rows = 1000
	for first := 1; first <= Accounts; first += rows {
		values := make([]string, rows)
		for i := range values {
			values[i] = fmt.Sprintf("(%d)", first+i)
		}
		if _, err := db.ExecContext(ctx, "INSERT IGNORE INTO accounts (id) VALUES "+strings.Join(values, ",")); err != nil {
			return fmt.Errorf("fill accounts: %w", err)
		}
	}
	return nil
}

// isServerError reports whether the error has one of these numbers.
func isServerError(err error, numbers ...uint16) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && slices.Contains(numbers, refused.Number)
}
