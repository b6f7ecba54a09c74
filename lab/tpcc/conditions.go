package tpcc

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conditionsJSON are the statements of Conditions, for the schema DefaultSchema.
//
//go:embed conditions.json
var conditionsJSON []byte

// Conditions are the consistency conditions 1 to 4 of TPC-C, clause 3.3.2, by name: SELECT
// statements that return the rows which violate one. Each sees one state of the database,
// so that they may run under load. schema replaces the default one.
func Conditions(schema string) map[string]string {
	var all map[string]string
	if err := json.Unmarshal(conditionsJSON, &all); err != nil {
		panic(err) // embedded
	}
	for name, statement := range all {
		all[name] = strings.ReplaceAll(statement, DefaultSchema+".", quote(schema)+".")
	}
	return all
}

// maxShown bounds the rows that a violation shows.
const maxShown = 5

// Result is what a condition's statement returned.
type Result struct {
	Condition string
	Violated  int      // rows
	Rows      []string // the first of them, as column=value
}

// Check runs all conditions, sorted by name.
func Check(ctx context.Context, db *sql.DB, schema string) (all []Result, err error) {
	conditions := Conditions(schema)
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		r, err := violations(ctx, db, conditions[name])
		if err != nil {
			return nil, fmt.Errorf("check that %s: %w", name, err)
		}
		r.Condition = name
		all = append(all, r)
	}
	return all, nil
}

func violations(ctx context.Context, db *sql.DB, statement string) (r Result, err error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return r, err
	}
	defer func() { _ = rows.Close() }() // Err has the error
	columns, err := rows.Columns()
	if err != nil {
		return r, err
	}
	values, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if r.Violated++; r.Violated > maxShown {
			continue
		}
		if err := rows.Scan(pointers...); err != nil {
			return r, err
		}
		var text []string
		for i, name := range columns {
			value := "NULL"
			if values[i].Valid {
				value = values[i].String
			}
			text = append(text, name+"="+value)
		}
		r.Rows = append(r.Rows, strings.Join(text, " "))
	}
	return r, rows.Err()
}
