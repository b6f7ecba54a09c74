//go:build live

package stack_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/lab/stack"
)

func TestUpDown(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"mysql", "mariadb"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.45)
			o := prepared(t, flavour)
			conditions(t, o.Dir, stack.IsDown, stack.IsDown, stack.IsDown)
			s, started := mustUp(t, o)
			if started != stack.All {
				t.Errorf("the first up started %+v", started)
			}
			conditions(t, o.Dir, stack.IsUp, stack.IsUp, stack.IsUp)
			again, started := mustUp(t, stack.Options{Dir: o.Dir})
			if started != (stack.Parts{}) || again.Database.Process != s.Database.Process || again.Target.Process != s.Target.Process {
				t.Errorf("the second up started something: %v, then %v", s, again)
			}
			checkRights(t, s, flavour)
			checkSecrets(t, o.Dir, s)

			db := mysqldtest.Open(t, s.ServiceDSN())
			db.SetMaxIdleConns(0) // as the server is restarted
			mysqldtest.Exec(t, db, "CREATE TABLE kept (i INT PRIMARY KEY)")
			if err := stack.Down(t.Context(), o.Dir, stack.All); err != nil {
				t.Fatal(err)
			}
			conditions(t, o.Dir, stack.IsDown, stack.IsDown, stack.IsDown)
			noProcess(t, o.Dir)
			if err := stack.Down(t.Context(), o.Dir, stack.All); err != nil {
				t.Errorf("a second down: %v", err)
			}

			o.Binary.Path = "" // found by the data it created
			after, started := mustUp(t, o)
			if started != stack.All || after.ServiceDSN() != s.ServiceDSN() || after.CollectorDSN() != s.CollectorDSN() || after.TargetURL() != s.TargetURL() {
				t.Error("users, passwords or ports changed by down and up")
			}
			mysqldtest.Exec(t, db, "INSERT INTO kept VALUES (1)")
		})
	}
}

// TestCrash checks that status shows which component crashed, and up starts only that
// one.
func TestCrash(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	o := prepared(t, "mariadb")
	o.TargetArgs = []string{"--some", "argument"}
	s, _ := mustUp(t, o)

	if err := s.Target.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsCrashed, stack.IsUp)
	second, started := mustUp(t, stack.Options{Dir: o.Dir})
	if started != (stack.Parts{Target: true}) || second.Database.Process != s.Database.Process || fmt.Sprint(second.Target.Args) != "[--some argument]" {
		t.Errorf("after a crash of the target: %v, then %v", s, second)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsUp, stack.IsUp)

	if err := second.Influx.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsUp, stack.IsCrashed)
	second, started = mustUp(t, stack.Options{Dir: o.Dir})
	if started != (stack.Parts{Influx: true}) || second.InfluxURL() != s.InfluxURL() || second.InfluxToken() != s.InfluxToken() {
		t.Errorf("after a crash of InfluxDB: %v, then %v", s, second)
	}

	if err := second.Database.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	conditions(t, o.Dir, stack.IsCrashed, stack.IsSilent, stack.IsUp)
	third, started := mustUp(t, stack.Options{Dir: o.Dir})
	if started != (stack.Parts{Database: true}) || third.Database.Process == s.Database.Process || third.Database.Port != s.Database.Port ||
		third.Target.Process != second.Target.Process {
		t.Errorf("after a crash of the database: %v, then %v", second, third)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsUp, stack.IsUp)

	// Up would also restart a hanging target, but only after its time to drain.
	if err := processtest.Suspend(third.Target.Process.PID); err != nil {
		t.Fatal(err)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsSilent, stack.IsUp)
	if err := third.Target.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	// Parts that were started one by one are stopped one by one.
	_, started = mustUp(t, stack.Options{Dir: o.Dir})
	if err := stack.Down(t.Context(), o.Dir, started); err != nil {
		t.Fatal(err)
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsDown, stack.IsUp)
}

// TestTwoUps checks that of two concurrent ups one starts the stack, and the other finds
// it; and that other options for a stack that is up are refused.
func TestTwoUps(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	o := options(t, "mariadb")
	var (
		wg      sync.WaitGroup
		states  [2]*stack.State
		started [2]stack.Parts
		errs    [2]error
	)
	for i := range states {
		wg.Go(func() { states[i], started[i], errs[i] = stack.Up(t.Context(), o, nil) })
	}
	wg.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	if started[0] == started[1] || states[0].Database.Process != states[1].Database.Process || states[0].Target.Process != states[1].Target.Process {
		t.Errorf("started %v: %v and %v", started, states[0], states[1])
	}
	for name, other := range map[string]stack.Options{
		"database port":    {Dir: o.Dir, DBPort: o.DBPort + 1},
		"target port":      {Dir: o.Dir, TargetPort: o.TargetPort + 1},
		"InfluxDB port":    {Dir: o.Dir, InfluxPort: o.InfluxPort + 1},
		"target arguments": {Dir: o.Dir, TargetArgs: []string{"--other"}},
	} {
		_, _, err := stack.Up(t.Context(), other, nil)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "assay-lab stack down") {
			t.Errorf("%s: %v", name, err)
		}
	}
	conditions(t, o.Dir, stack.IsUp, stack.IsUp, stack.IsUp)
}

// checkSecrets checks that passwords are in the state file and the target's environment
// only.
func checkSecrets(t *testing.T, dir string, s *stack.State) {
	t.Helper()
	secrets := []string{string(s.Users.Service.Password), string(s.Users.Collector.Password), string(s.Influx.Password)}
	info, err := os.Stat(filepath.Join(dir, "stack.json"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("state file: %v %v", info.Mode(), err)
	}
	var shown bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&shown, nil), slog.NewTextHandler(&shown, nil)} {
		slog.New(h).Info("x", "state", s, "users", s.Users, "user", s.Users.Service, "password", s.Users.Service.Password)
	}
	fmt.Fprintf(&shown, "%v %+v %#v %v %q", s, *s, *s, s.Users.Collector, s.Users.Collector.Password)
	for _, pid := range []int{s.Database.Process.PID, s.Target.Process.PID, s.Influx.Process.PID} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			t.Error(err)
		}
		shown.Write(b)
	}
	for _, log := range []string{"log/target.log", "db/log/server.log", "influxdb/influxd.log"} {
		b, err := os.ReadFile(filepath.Join(dir, log))
		if err != nil {
			t.Error(err)
		}
		shown.Write(b)
	}
	for _, secret := range secrets {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("a password is shown:\n%s", strings.ReplaceAll(shown.String(), secret, "<<<password>>>"))
		}
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Target.Process.PID))
	if err != nil || !strings.Contains(string(env), "ASSAY_DB="+s.ServiceDSN()+"\x00") || strings.Contains(string(env), secrets[1]) {
		t.Errorf("environment of the target: %v", err)
	}
}
