// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/spec"
)

// ReadError is a failure to read the persisted side from the database.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return "read persisted transactions: " + e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// Read visits the persisted side of a run as the database returns its rows. Each ? of the
// query is bound to the run id, and the query returns identity and time. The error is a
// *ReadError, or the first error of visit.
func Read(ctx context.Context, db *database.DB, query, run string, visit func(Entry) error) (err error) {
	defer func() {
		if errors.Is(err, foreign.ErrUnreadable) {
			err = &ReadError{err}
		}
	}()
	defer foreign.Guard(&err) // of the driver, which parses what the server sends
	rows, err := db.QueryContext(ctx, db.Dialect.Bind(query), spec.Arguments(query, run)...)
	if err != nil {
		return &ReadError{err}
	}
	defer rows.Close()
	if err := checkColumns(rows, db.Dialect.Timestamps); err != nil {
		return &ReadError{err}
	}
	for rows.Next() {
		var id string
		var at time.Time
		if err := rows.Scan(&id, &at); err != nil {
			return &ReadError{err}
		}
		if err := visit(Entry{Hash: HashOf(run, id), Millis: at.UnixMilli()}); err != nil {
			return err
		}
		db.Received()
	}
	if err := rows.Err(); err != nil {
		return &ReadError{err}
	}
	return nil
}

// Count is the number of rows of the persisted side of a run.
func Count(ctx context.Context, db *database.DB, query, run string) (n int64, err error) {
	defer foreign.Guard(&err)
	count := "SELECT COUNT(*) FROM (" + strings.TrimRight(query, "; \n\t") + ") AS persisted"
	err = db.QueryRowContext(ctx, db.Dialect.Bind(count), spec.Arguments(query, run)...).Scan(&n)
	return n, err
}

// Remove executes the statements that delete a run's rows, and returns the number of
// rows affected, as far as the driver reports it.
func Remove(ctx context.Context, db *database.DB, statements []string, run string) (removed int64, err error) {
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

// Scan is a table of which a statement reads every row.
type Scan struct {
	Table string
	Rows  int64 // about so many; 0: no table is scanned, or a small one
}

// manyRows take noticeable time to read: a smaller table needs no index.
const manyRows = 10_000

// Explain checks what Remove would execute, without executing it: syntax, tables and rights,
// and on servers of the MySQL family the largest table that would be scanned. It locks no row.
func Explain(ctx context.Context, db *database.DB, statements []string, run string) (largest Scan, err error) {
	defer foreign.Guard(&err)
	for _, statement := range statements {
		scan, err := Try(ctx, db, statement, run)
		if db.Dialect.Is(err, database.ReadOnly) {
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

// Try checks one statement as Explain does, but for whether the server takes writes.
func Try(ctx context.Context, db *database.DB, statement, run string) (scan Scan, err error) {
	defer foreign.Guard(&err)
	scan, err = explain(ctx, db, statement, run)
	if db.Dialect.Is(err, database.Unexplained) {
		err = prepare(ctx, db, statement)
	}
	return scan, err
}

var errReadOnly = &database.Error{Problem: "the server takes no writes: it is read-only", Remedy: "name the primary, which takes writes, in ASSAY_DB"}

// explain rolls back what functions in the statement do, which a server may call to plan it.
func explain(ctx context.Context, db *database.DB, statement, run string) (largest Scan, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Scan{}, err
	}
	defer tx.Rollback() // closes the connection if it fails
	rows, err := tx.QueryContext(ctx, db.Dialect.Bind(db.Dialect.Explainer+" "+statement), spec.Arguments(statement, run)...)
	if err != nil {
		return Scan{}, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return Scan{}, err
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return Scan{}, err
		}
		step := map[string]string{}
		for i, name := range columns {
			step[strings.ToLower(name)] = values[i].String
		}
		n, _ := strconv.ParseInt(step["rows"], 10, 64) // 0: a step without a table
		if all := step["type"] == "ALL" || step["type"] == "index"; all && n >= manyRows && n > largest.Rows {
			largest = Scan{step["table"], n}
		}
	}
	return largest, rows.Err()
}

// prepare checks a statement that the server does not explain, such as a CALL, or a removal
// from a view for a user who may not see its tables. Its error is about the statement itself.
func prepare(ctx context.Context, db *database.DB, statement string) error {
	prepared, err := db.PrepareContext(ctx, db.Dialect.Bind(statement))
	if err != nil {
		return err
	}
	return prepared.Close()
}

// checkColumns requires the columns identity and time. Preflight finds no rows, so that
// Scan would not notice.
func checkColumns(rows *sql.Rows, times []string) error {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if len(columns) != 2 {
		return fmt.Errorf("the query returns %d columns, want identity and time", len(columns))
	}
	if name := columns[1].DatabaseTypeName(); !slices.Contains(times, name) {
		return fmt.Errorf("column %s has type %s, want %s", columns[1].Name(), name, strings.Join(times, " or "))
	}
	return nil
}
