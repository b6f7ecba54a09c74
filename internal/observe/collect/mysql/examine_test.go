//go:build live

package mysql_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// An examination returns the notes and errors that Start would, and changes nothing.
func examine(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db,
		"CREATE USER 'reader'@'%' IDENTIFIED BY 'only'", "GRANT SELECT ON performance_schema.* TO 'reader'@'%'",
		"CREATE USER 'nobody'@'%' IDENTIFIED BY 'at all'")
	user := func(name, password string) string {
		return with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = name, password })
	}
	before := setupRows(t, b.db)
	all, err := mysql.Driver{}.Examine(t.Context(), b.dsn)
	if err != nil || all.Disabled == 0 || len(all.Notes) > 0 {
		t.Errorf("with all rights: %+v, %v", all, err)
	}
	for _, name := range []string{metric.DBConnections, metric.DBDeadlocks, metric.DBAborted} {
		if !slices.ContainsFunc(all.Variables, func(v string) bool { return slices.Contains(metric.Variables(name), v) }) {
			t.Errorf("%s cannot be read: variables %q", name, all.Variables)
		}
	}
	some, err := mysql.Driver{}.Examine(t.Context(), user("reader", "only"))
	if err != nil || some.Disabled != all.Disabled {
		t.Errorf("with the right to read: %+v, %v", some, err)
	}
	var rights *sampling.RightsError
	if _, err := (mysql.Driver{}).Examine(t.Context(), user("nobody", "at all")); !errors.As(err, &rights) || !strings.Contains(rights.SQL, "GRANT SELECT, UPDATE") {
		t.Errorf("without rights: %v", err)
	}
	if left := changed(before, setupRows(t, b.db)); len(left) > 0 {
		t.Errorf("changed: %q", left)
	}
	if notes := started(t, user("reader", "only")).Notes(); !slices.Equal(notes, some.Notes) || len(notes) == 0 {
		t.Errorf("examined: %q\nstarted: %q", some.Notes, notes)
	}
	started(t, b.dsn)
	if on, err := (mysql.Driver{}).Examine(t.Context(), b.dsn); err != nil || on.Disabled != 0 {
		t.Errorf("with everything on: %+v, %v", on, err)
	}
}
