package tpcc

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"assay.dev/assay/internal/hint"
)

//go:embed schema.sql
var schemaSQL string

// columns are those that the loader fills, where it does not fill all.
var columns = map[string]string{
	"history": " (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)",
}

const (
	// concurrent is how many warehouses are loaded at the same time.
	concurrent = 4
	// batchRows is how many rows an INSERT has: statements of at most about 250 kB.
	batchRows = 500
	// dropTimeout bounds dropping the tables of a load that failed.
	dropTimeout = time.Minute
)

// stateTable says what was loaded; complete is 0 until everything was.
const stateTable = "tpcc_load"

// Load makes schema and tables, and fills them. It refuses a schema that holds a complete
// load, and replaces one that was interrupted by a crash. If it fails or ctx ends, it drops
// the tables again. progress is called with the number of rows so far, from several
// goroutines.
func Load(ctx context.Context, db *sql.DB, schema string, s Scale, progress func(rows int64)) (err error) {
	if err := s.Check(); err != nil {
		return err
	}
	found, complete, err := Loaded(ctx, db, schema)
	if err != nil {
		return err
	}
	if complete {
		return hint.With(fmt.Errorf("schema %s holds a load of %d warehouses", schema, found.Warehouses),
			"use it, or drop it: assay-lab tpcc drop, with the same --schema and --db")
	}
	if err := clear(ctx, db, schema); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		err = errors.Join(err, clear(after, db, schema))
	}()
	if err := create(ctx, db, schema, s); err != nil {
		return err
	}
	var rows atomic.Int64
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	part := func(what string, fill func(add) error) {
		group.Go(func() error {
			b := batches{ctx: filling, db: db, schema: quote(schema), waiting: map[string][]any{}, width: map[string]int{}, sent: func(n int) { progress(rows.Add(int64(n))) }}
			err := fill(b.add)
			if err == nil {
				err = b.flush()
			}
			if err != nil {
				return fmt.Errorf("load %s: %w", what, err)
			}
			return nil
		})
	}
	part("items", s.items)
	for w := 1; w <= s.Warehouses; w++ {
		part(fmt.Sprintf("warehouse %d", w), func(add add) error { return s.warehouse(w, add) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return exec(ctx, db, "UPDATE "+quote(schema)+"."+stateTable+" SET complete = 1")
}

// create makes the schema and its tables.
func create(ctx context.Context, db *sql.DB, schema string, s Scale) error {
	statements := []string{
		"CREATE DATABASE IF NOT EXISTS " + quote(schema) + " CHARACTER SET utf8mb4",
		"CREATE TABLE " + quote(schema) + "." + stateTable + " (id INT PRIMARY KEY, warehouses INT NOT NULL, items INT NOT NULL, customers INT NOT NULL, seed BIGINT UNSIGNED NOT NULL, complete TINYINT NOT NULL) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO %s.%s VALUES (1, %d, %d, %d, %d, 0)", quote(schema), stateTable, s.Warehouses, s.Items, s.Customers, s.Seed),
	}
	statements = append(statements, strings.Split(strings.TrimRight(strings.TrimSpace(schemaSQL), ";"), ";\n")...)
	for i, statement := range statements {
		if i >= 3 {
			statement = strings.Replace(statement, "CREATE TABLE ", "CREATE TABLE "+quote(schema)+".", 1)
		}
		if err := exec(ctx, db, statement); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	return nil
}

// Loaded returns what a schema holds; complete is false if it holds nothing, or a part.
func Loaded(ctx context.Context, db *sql.DB, schema string) (s Scale, complete bool, err error) {
	tables, err := tablesOf(ctx, db, schema)
	if err != nil || !tables[stateTable] {
		return s, false, err
	}
	err = db.QueryRowContext(ctx, "SELECT warehouses, items, customers, seed, complete FROM "+quote(schema)+"."+stateTable).
		Scan(&s.Warehouses, &s.Items, &s.Customers, &s.Seed, &complete)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read what was loaded: %w", err)
	}
	return s, complete, nil
}

// Tables are those of a load.
func Tables() (all []string) {
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(schemaSQL, -1) {
		all = append(all, m[1])
	}
	return append(all, stateTable)
}

// Drop drops the tables of a load, and the schema if it holds no others.
func Drop(ctx context.Context, db *sql.DB, schema string) error {
	found, err := tablesOf(ctx, db, schema)
	if err != nil {
		return err
	}
	if !found[stateTable] {
		return fmt.Errorf("schema %s holds no load of TPC-C", schema)
	}
	return clear(ctx, db, schema)
}

// clear is Drop, and does nothing if there is nothing to drop. It refuses tables of another
// origin, which may have the same names.
func clear(ctx context.Context, db *sql.DB, schema string) error {
	found, err := tablesOf(ctx, db, schema)
	if err != nil || len(found) == 0 {
		return err
	}
	if !found[stateTable] {
		return hint.With(fmt.Errorf("schema %s holds tables of something else", schema), "name another schema with --schema")
	}
	for _, table := range Tables() { // the state last: it tells an interrupted drop from a schema of another origin
		if !found[table] {
			continue
		}
		if err := exec(ctx, db, "DROP TABLE "+quote(schema)+"."+table); err != nil {
			return fmt.Errorf("drop table: %w", err)
		}
		delete(found, table)
	}
	if len(found) > 0 {
		return nil
	}
	if err := exec(ctx, db, "DROP DATABASE "+quote(schema)); err != nil {
		return fmt.Errorf("drop schema: %w", err)
	}
	return nil
}

// tablesOf are the tables of a schema; nil: there is no such schema.
func tablesOf(ctx context.Context, db *sql.DB, schema string) (all map[string]bool, err error) {
	rows, err := db.QueryContext(ctx, "SELECT s.schema_name, t.table_name FROM information_schema.schemata s LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name WHERE s.schema_name = ?", schema)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err has the error
	for rows.Next() {
		var name string
		var table sql.NullString
		if err := rows.Scan(&name, &table); err != nil {
			return nil, fmt.Errorf("list tables: %w", err)
		}
		if all == nil {
			all = map[string]bool{}
		}
		if table.Valid {
			all[table.String] = true
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return all, nil
}

func exec(ctx context.Context, db *sql.DB, statement string) error {
	_, err := db.ExecContext(ctx, statement)
	return err
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// batches collects rows into INSERT statements.
type batches struct {
	ctx     context.Context
	db      *sql.DB
	schema  string
	waiting map[string][]any // values by table
	width   map[string]int   // columns by table
	sent    func(rows int)
}

func (b *batches) add(table string, row ...any) error {
	b.width[table] = len(row)
	b.waiting[table] = append(b.waiting[table], row...)
	if len(b.waiting[table]) < batchRows*len(row) {
		return nil
	}
	return b.send(table)
}

func (b *batches) flush() error {
	for table := range b.waiting {
		if err := b.send(table); err != nil {
			return err
		}
	}
	return nil
}

func (b *batches) send(table string) error {
	values := b.waiting[table]
	if len(values) == 0 {
		return nil
	}
	n := len(values) / b.width[table]
	row := "(?" + strings.Repeat(",?", b.width[table]-1) + ")"
	statement := "INSERT INTO " + b.schema + "." + table + columns[table] + " VALUES " + row + strings.Repeat(","+row, n-1)
	if _, err := b.db.ExecContext(b.ctx, statement, values...); err != nil {
		return err
	}
	b.waiting[table] = values[:0]
	b.sent(n)
	return nil
}
