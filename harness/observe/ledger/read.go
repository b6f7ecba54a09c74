package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/harness/foreign"
	"assay/harness/observe/database"
	"assay/harness/spec"
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
