//go:build live

package stack_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/stack"
)

// TestTargetFails checks that the error gives the reason without a secret, and that the
// database is stopped.
func TestTargetFails(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	o := prepared(t, "mariadb")
	o.TargetArgs = []string{"--die"}
	_, _, err := stack.Up(t.Context(), o, nil)
	if err == nil || !strings.Contains(err.Error(), "start reference service: the process exited: cannot use assay_service:***@tcp") {
		t.Errorf("error %v", err)
	}
	noProcess(t, o.Dir)
	conditions(t, o.Dir, stack.IsDown, stack.IsDown, stack.IsDown)
}

func TestPortsTaken(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	_, taken := listen(t)
	for name, set := range map[string]func(*stack.Options){
		"database": func(o *stack.Options) { o.DBPort = taken },
		"target":   func(o *stack.Options) { o.TargetPort = taken },
	} {
		o := options(t, "mariadb")
		set(&o)
		_, _, err := stack.Up(t.Context(), o, nil)
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(taken)) || !errors.Is(err, process.ErrPortTaken) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, "db", "data")); err == nil {
			t.Errorf("%s: a database was created first", name)
		}
		noProcess(t, o.Dir)
	}
}

// interrupted runs `up` in another process, with a target that never becomes healthy,
// and sends that process a signal.
func interrupted(t *testing.T, sig os.Signal) (dir, output string) {
	t.Helper()
	dir = memorytest.Folder(t)
	cleanUp(t, dir)
	mysqldtest.Prepare(t, mysqld.Options{Dir: filepath.Join(dir, "db"), Binary: mysqldtest.Binary(t, "mariadb")})
	cmd := exec.Command(os.Args[0], "--sick")
	cmd.Env = append(os.Environ(), upEnv+"="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "up waits for the target", func() bool {
		_, ps, err := stack.Status(dir)
		return err == nil && ps[0].Condition == stack.IsUp && ps[1].Condition == stack.IsSilent
	})
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("up ended with %v", err)
	}
	return dir, stderr.String()
}

// TestInterrupted checks that Ctrl-C during up stops what it has started.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	dir, output := interrupted(t, os.Interrupt)
	noProcess(t, dir)
	conditions(t, dir, stack.IsDown, stack.IsDown, stack.IsDown)
	if !strings.Contains(output, "interrupt") && !strings.Contains(output, "canceled") {
		t.Errorf("output %q", output)
	}
}

// TestUpKilled checks that after kill -9 during up, down still finds all processes.
func TestUpKilled(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	dir, _ := interrupted(t, syscall.SIGKILL)
	if len(running(t, dir)) != 3 {
		t.Errorf("running: %q", running(t, dir))
	}
	// Without the state file, database and InfluxDB are found by their own files.
	state := filepath.Join(dir, "stack.json")
	s, _, err := stack.Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Target.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	conditions(t, dir, stack.IsUp, stack.IsDown, stack.IsUp)
	// New passwords replace the lost ones.
	after, started := mustUp(t, stack.Options{Dir: dir, TargetPort: ports(t, 1), Influxd: influxtest.Binary(t)})
	if !started.Target || after.Database.Process != s.Database.Process || after.ServiceDSN() == s.ServiceDSN() {
		t.Errorf("after the state was lost: %v, then %v", s, after)
	}
	conditions(t, dir, stack.IsUp, stack.IsUp, stack.IsUp)
}
