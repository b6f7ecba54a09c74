//go:build live

package stack_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/lab/stack"
)

var databaseAndService = stack.Parts{Database: true, Target: true}

// TestRestart restarts server and service with other options, and with the former ones,
// on the same ports and data.
func TestRestart(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	o := prepared(t, "mariadb")
	o.Influxd = ""
	o.TargetArgs = []string{"--some", "argument"}
	s, _ := mustUp(t, o)
	before := s.Setup()
	other := before
	other.Database, other.Target = []string{"--innodb-lock-wait-timeout=7"}, []string{"--another"}

	after, err := stack.Restart(t.Context(), stack.Options{Dir: o.Dir}, other, databaseAndService, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, after.Setup()); diff != "" {
		t.Error(diff)
	}
	if got := lockWait(t, o.Dir); got != "7" {
		t.Errorf("the server has %s", got)
	}
	again, started := mustUp(t, stack.Options{Dir: o.Dir})
	if started != (stack.Parts{}) || again.Database.Process != after.Database.Process {
		t.Errorf("up started %+v", started)
	}

	// The service only.
	other.Target = []string{"--a-third"}
	alone, err := stack.Restart(t.Context(), stack.Options{Dir: o.Dir}, other, stack.Parts{Target: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Database.Process != after.Database.Process || alone.Target.Process == after.Target.Process {
		t.Error("the database was restarted, or the service was not")
	}

	// A server that does not start with its options, and then with others.
	bad := other
	bad.Database = []string{"--no-such-option=1"}
	if _, err := stack.Restart(t.Context(), stack.Options{Dir: o.Dir}, bad, databaseAndService, nil); err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("error %v", err)
	}
	if _, err := stack.AdminDSN(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("DSN of a server that is down: %v", err)
	}
	back, err := stack.Restart(t.Context(), stack.Options{Dir: o.Dir}, before, databaseAndService, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, back.Setup()); diff != "" {
		t.Error(diff)
	}
	if got := lockWait(t, o.Dir); got != "50" {
		t.Errorf("the server has %s", got)
	}
}

func lockWait(t *testing.T, dir string) (value string) {
	t.Helper()
	dsn, err := stack.AdminDSN(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := mysqldtest.Open(t, dsn)
	if err := db.QueryRowContext(t.Context(), "SELECT @@GLOBAL.innodb_lock_wait_timeout").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
