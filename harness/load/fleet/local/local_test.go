package local_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/load/fleet/local"
	"assay/harness/plan"
	"assay/harness/polltest"
)

// start starts workers that are shell scripts.
func start(t *testing.T, workers int, script string) *local.Fleet {
	t.Helper()
	program := filepath.Join(t.TempDir(), "assay")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := local.Start(spec(t, workers), program)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func spec(t *testing.T, workers int) fleet.Spec {
	return fleet.Spec{Plan: plan.Plan{Fleet: plan.Share(workers, 1)}, Dir: t.TempDir()}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestExits(t *testing.T) {
	f := start(t, 3, `case "$*" in
*ASSAY_WORKER=0*) exit 0;;
*ASSAY_WORKER=1*) printf '%s\n' 'time="2026-11-20T23:54:40Z" level=error msg="Error: no stock\n\tat file:///srv/pay.js:1:34(3)\n" hint="script exception"'; exit 107;;
*) printf '%s\n' 'time="2026-11-20T23:54:40Z" level=error msg="pay: 503"'; kill -9 $$;;
esac`)
	select {
	case <-f.Done():
	case <-time.After(time.Minute):
		t.Fatal("the fleet does not end")
	}
	want := []string{
		"worker/0 ended with status 0",
		"worker/1 ended with status 107: Error: no stock (pay.js:1:34)",
		"worker/2 ended: signal: killed",
	}
	for i, e := range f.Exits() {
		if e.String() != want[i] {
			t.Errorf("%s, want %s", e, want[i])
		}
	}
	reported := map[string]bool{}
	for range want {
		reported[(<-f.Ended()).String()] = true
	}
	for _, w := range want {
		if !reported[w] {
			t.Errorf("not reported: %s", w)
		}
	}
	f.Stop(t.Context()) // nothing is left to stop
}

// Stop asks workers to end, suspended ones too, and kills those that ignore it when
// ctx is done.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		script, status string
		signal         syscall.Signal
		patience       time.Duration
		within         time.Duration
	}{
		"obeys":     {"trap 'exit 105' TERM", "105", 0, 20 * time.Second, 10 * time.Second},
		"suspended": {"trap 'exit 105' TERM", "105", syscall.SIGSTOP, 20 * time.Second, 10 * time.Second},
		"ignores":   {"trap '' TERM", "signal: killed", 0, 300 * time.Millisecond, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trapped := t.TempDir()
			f := start(t, 2, c.script+"; : > '"+trapped+"'/$$; while :; do sleep 0.05; done")
			polltest.Until(t, "both workers trap the signal", func() bool {
				all, err := os.ReadDir(trapped)
				return err == nil && len(all) == 2
			})
			pids := f.PIDs()
			if len(pids) != 2 {
				t.Errorf("processes %v", pids)
			}
			for _, pid := range pids {
				if c.signal != 0 {
					if err := syscall.Kill(pid, c.signal); err != nil {
						t.Error(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			began := time.Now()
			f.Stop(ctx)
			if took := time.Since(began); took > c.within {
				t.Errorf("stopping took %s", took)
			}
			for _, e := range f.Exits() {
				if e.Status != c.status {
					t.Errorf("%s, want %s", e, c.status)
				}
			}
			for source, pid := range pids {
				if !gone(pid) {
					t.Errorf("%s is left", source)
				}
			}
		})
	}
}

func TestWorkersThatCannotBeStarted(t *testing.T) {
	s := spec(t, 2)
	if _, err := local.Start(s, "/no/such/program"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start worker 0") {
		t.Errorf("no program: %v", err)
	}
	s.Dir = filepath.Join(s.Dir, "nowhere")
	if _, err := local.Start(s, "/bin/true"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
