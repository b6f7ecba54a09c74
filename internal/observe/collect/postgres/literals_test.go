//go:build live

package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// The server keeps the literals of many statements, such as the passwords of other users.
func TestNoLiterals(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	b := newBench(t, counted)
	mysqldtest.Exec(t, b.db, "CREATE ROLE bob", "CREATE FOREIGN DATA WRAPPER w", "CREATE SERVER s FOREIGN DATA WRAPPER w",
		"CREATE USER MAPPING FOR bob SERVER s OPTIONS (password 'none')")
	want := []string{
		"ALTER ROLE bob PASSWORD ? LOGIN", "ALTER USER MAPPING FOR bob SERVER s OPTIONS (SET password ?)",
		"DO ?", "SET app.secret TO ?", "UPDATE item SET n = $1 WHERE id = $2",
	}
	statements := []string{
		"ALTER ROLE bob PASSWORD 'it''s hunter%d' LOGIN", "ALTER USER MAPPING FOR bob SERVER s OPTIONS (SET password E'\\'hunter%d')",
		"DO $$BEGIN PERFORM 'hunter%d'; END$$", "SET app.secret TO hunter%d", "UPDATE item SET n = %d /* hunter */ WHERE id = 1",
	}
	var n atomic.Int64
	all := b.watch(t, 1, func() string {
		i := int(n.Add(1))
		return fmt.Sprintf(statements[i%len(statements)], i)
	}, "all statements are seen", func(s samplingtest.Result) bool {
		return !slices.ContainsFunc(want, func(text string) bool { return s.Total(metric.DBStatements, "statement", text) < 2 })
	})
	found := map[string]string{}
	for _, series := range all.Series(metric.DBStatements) {
		text := series.Label("statement")
		if strings.Contains(text, "hunter") {
			t.Errorf("a literal is left: %s", text)
		}
		if other, known := found[text]; known {
			t.Errorf("%s has the digests %s and %s", text, other, series.Label("digest"))
		}
		found[text] = series.Label("digest")
	}
}
