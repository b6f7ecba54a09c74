//go:build live

package sql_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

// The module does what testdata/module.js checks, and counts it.
func TestModule(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"mysql":    func(t *testing.T) string { return inSchema(t, mysqldtest.StartInMemory(t, "mysql").DSN(), "shop") },
		"mariadb":  func(t *testing.T) string { return inSchema(t, mysqldtest.StartInMemory(t, "mariadb").DSN(), "shop") },
		"postgres": func(t *testing.T) string { return postgrestest.StartInMemory(t).DSN() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.5)
			samples, log := runScript(t, 0, "testdata/module.js", nil, "DSN="+start(t))
			if strings.Contains(log, "level=error") {
				t.Fatal(log)
			}
			code := "1062"
			if name == "postgres" {
				code = "23505"
			}
			for _, c := range []struct {
				metric string
				tags   []string
				want   int
			}{
				{"sql_errors", []string{"class=duplicate key", "code=" + code}, 1},
				{"sql_errors", []string{"class=connection refused", "code="}, 1},
				{"sql_errors", []string{"class=timeout"}, 2},
				{"sql_errors", []string{"class=lock wait timeout"}, 1},
				{"sql_duration", []string{"name=commit", "path=direct"}, 2},
				{"sql_connecting", []string{"name=take", "path=pooled"}, 3},
			} {
				if got := values(samples, c.metric, c.tags...); len(got) != c.want {
					t.Errorf("%s with %q has %d samples, want %d", c.metric, c.tags, len(got), c.want)
				}
			}
			if failed, errors := sum(values(samples, "sql_failed")), sum(values(samples, "sql_errors")); failed != errors {
				t.Errorf("%g failures, %g errors", failed, errors)
			}
			if all := len(values(samples, "sql_duration")) + len(values(samples, "sql_connecting")); len(values(samples, "sql_failed")) != all {
				t.Errorf("sql_failed has %d samples, want %d", len(values(samples, "sql_failed")), all)
			}
		})
	}
}
