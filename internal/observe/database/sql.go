// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/spec"
)

var _ Store = (*DB)(nil)

func (db *DB) Is(err error, c Condition) bool { return db.Dialect.Is(err, c) }

func (db *DB) ask(ctx context.Context, query, run string) (*sql.Rows, error) {
	return db.QueryContext(ctx, db.Dialect.Bind(query), spec.Arguments(query, run)...)
}

func (db *DB) Rows(ctx context.Context, query, run string, visit func(Row) error) (err error) {
	defer foreign.Guard(&err) // the driver parses what the server sends, and may panic
	rows, err := db.ask(ctx, query, run)
	if err != nil {
		return err
	}
	defer rows.Close()
	column, err := checkColumns(rows, db.Dialect.Timestamps, db.Dialect.ToTimestamp)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id, at any
		if err := rows.Scan(&id, &at); err != nil {
			return err
		}
		row := Row{ID: identityOf(id, column)}
		row.At, _ = at.(time.Time) // NULL, or infinity
		if err := visit(row); err != nil {
			return err
		}
		db.Received()
	}
	return rows.Err()
}

// checkColumns requires the columns identity and time, and returns the type of the identities.
// Preflight finds no rows, so that Scan would not notice.
func checkColumns(rows *sql.Rows, times []string, convert string) (identities string, err error) {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	if len(columns) != 2 {
		return "", fmt.Errorf("the query returns %d columns, want identity and time", len(columns))
	}
	if name := columns[1].DatabaseTypeName(); !slices.Contains(times, name) {
		return "", fmt.Errorf("column %s has type %s, want %s; convert it in the query, as by %s", columns[1].Name(), name, strings.Join(times, " or "), convert)
	}
	return columns[0].DatabaseTypeName(), nil
}

func (db *DB) Zones(ctx context.Context) (all []time.Duration) {
	if db.Dialect.ZonesQuery == "" {
		return nil
	}
	rows, err := Maps(db.QueryContext(ctx, db.Dialect.ZonesQuery))
	if err != nil {
		return nil
	}
	for _, row := range rows {
		for _, value := range row { // of one column
			if seconds, err := strconv.ParseFloat(value, 64); err == nil {
				all = append(all, time.Duration(seconds)*time.Second)
			}
		}
	}
	return all
}

func (db *DB) Count(ctx context.Context, query, run string) (n int64, err error) {
	defer foreign.Guard(&err)
	count := "SELECT COUNT(*) FROM (" + strings.TrimRight(query, "; \n\t") + ") AS persisted"
	err = db.QueryRowContext(ctx, db.Dialect.Bind(count), spec.Arguments(query, run)...).Scan(&n)
	return n, err
}

func (db *DB) CountFew(ctx context.Context, query, run string, most int64) (n int64, err error) {
	defer foreign.Guard(&err)
	rows, err := db.ask(ctx, query, run)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for n < most && rows.Next() {
		n++
	}
	return n, rows.Err()
}

func (db *DB) Number(ctx context.Context, query, run string) (v float64, ok bool, err error) {
	defer foreign.Guard(&err)
	var n sql.NullFloat64
	err = db.QueryRowContext(ctx, db.Dialect.Bind(query), spec.Arguments(query, run)...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n.Float64, n.Valid, err
}

func (db *DB) Remove(ctx context.Context, statements []string, run string) (removed int64, err error) {
	defer foreign.Guard(&err)
	for _, statement := range statements {
		done, err := db.ExecContext(ctx, db.Dialect.Bind(statement), spec.Arguments(statement, run)...)
		if err != nil {
			return removed, err
		}
		if n, err := done.RowsAffected(); err == nil {
			removed += n
		}
	}
	return removed, nil
}

// Explain checks syntax, tables and rights.
func (db *DB) Explain(ctx context.Context, statements []string, run string) (largest Scan, err error) {
	defer foreign.Guard(&err)
	for _, statement := range statements {
		scan, err := db.Try(ctx, statement, run)
		if db.Is(err, ReadOnly) {
			err = errReadOnly
		}
		if err != nil {
			return Scan{}, err
		}
		if scan.Rows > largest.Rows {
			largest = scan
		}
	}
	if query := db.Dialect.ReadOnlyQuery; query != "" && len(statements) > 0 {
		var readOnly bool
		if err := db.QueryRowContext(ctx, query).Scan(&readOnly); err != nil {
			return Scan{}, err
		}
		if readOnly {
			return Scan{}, errReadOnly
		}
	}
	return largest, nil
}

var errReadOnly = &Error{"the server takes no writes: it is read-only", "name the primary, which takes writes, in ASSAY_DB"}

// Try checks one statement. What the server does not explain is prepared: a CALL, or a removal
// from a view for a user who may not see its tables.
func (db *DB) Try(ctx context.Context, statement, run string) (scan Scan, err error) {
	defer foreign.Guard(&err)
	scan, err = db.explain(ctx, statement, run)
	if !db.Is(err, Unexplained) {
		return scan, err
	}
	prepared, err := db.PrepareContext(ctx, db.Dialect.Bind(statement))
	if err != nil {
		return scan, err
	}
	return scan, prepared.Close()
}

// manyRows take noticeable time to read: a smaller table needs no index.
const manyRows = 10_000

// explain rolls back what functions in the statement do, which a server may call to plan it.
func (db *DB) explain(ctx context.Context, statement, run string) (largest Scan, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Scan{}, err
	}
	defer tx.Rollback() // closes the connection if it fails
	steps, err := Maps(tx.QueryContext(ctx, db.Dialect.Bind(db.Dialect.Explainer+" "+statement), spec.Arguments(statement, run)...))
	if db.Dialect.Scanned == nil {
		return Scan{}, err
	}
	for _, step := range steps {
		for name, value := range maps.Clone(step) {
			step[strings.ToLower(name)] = value // servers write the names in either case
		}
		if scan := db.Dialect.Scanned(step); scan.Rows >= manyRows && scan.Rows > largest.Rows {
			largest = scan
		}
	}
	return largest, err
}

// Maps reads the rows of a query by the names of their columns, NULL as empty.
func Maps(rows *sql.Rows, err error) (all []map[string]string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for err == nil && rows.Next() {
		err = rows.Scan(into...)
		row := make(map[string]string, len(names))
		for i, name := range names {
			row[name] = values[i].String
		}
		all = append(all, row)
	}
	return all, errors.Join(err, rows.Err())
}

func (db *DB) Facts(ctx context.Context) (f Facts) {
	_ = db.QueryRowContext(ctx, db.Dialect.VersionQuery).Scan(&f.Version) // empty: unknown
	limit, err := db.count(ctx, db.Dialect.ConnectionLimitQuery)
	if err == nil {
		var open int
		if open, err = db.count(ctx, db.Dialect.ConnectionsQuery); err == nil {
			f.Limit, f.Connected = limit, open-1
		}
	}
	f.Clock = db.offset(ctx)
	return f
}

// count is the result of a query for one number, which is in the last column.
func (db *DB) count(ctx context.Context, query string) (n int, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	if !rows.Next() {
		return 0, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	var name string
	into := []any{&name, &n}
	return n, errors.Join(rows.Scan(into[len(into)-len(columns):]...), rows.Err())
}

// offset compares the clocks several times, and returns the comparison with the shortest
// round trip.
func (db *DB) offset(ctx context.Context) (best Offset) {
	for range 5 {
		var at time.Time
		sent := time.Now()
		if err := db.QueryRowContext(ctx, db.Dialect.ClockQuery).Scan(&at); err != nil {
			return best
		}
		half := time.Since(sent) / 2
		if !best.Known || half < best.Uncertainty {
			best = Offset{Known: true, Ahead: at.Sub(sent.Add(half)), Uncertainty: half}
		}
	}
	return best
}
