//go:build live

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/fleet/local"
)

// start starts workers that are shell scripts, and returns what they write to.
func start(t *testing.T, workers int, script string) (f fleet.Workers, dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("ASSAY_DB", "secret")
	program := filepath.Join(dir, "assay")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncd '"+dir+"'\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := local.Engine{}.Start(t.Context(), fleet.Launch{Executable: program, Workers: workers, Here: "https://127.0.0.1:7077", Token: "the-token"})
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Each worker gets address and token, and nothing of the coordinator's own secrets. How
// each ended is reported, with the last line that it printed.
func TestWorkers(t *testing.T) {
	f, dir := start(t, 3, `
env > env-$$; echo "$*" > args-$$
if mkdir first 2>/dev/null; then exit 0; fi
if mkdir second 2>/dev/null; then echo working; echo 'assay: join: no such run'; exit 2; fi
kill -9 $$`)
	ended := map[string]string{}
	for range 3 {
		e := <-f.Ended()
		ended[e.Status] = e.Output
		if !gone(e.PID) {
			t.Errorf("process %d is left", e.PID)
		}
	}
	if len(ended) != 3 || ended["0"] != "" || ended["2"] != "join: no such run" {
		t.Errorf("ended %v", ended)
	}
	if _, killed := ended["signal: killed"]; !killed {
		t.Errorf("ended %v", ended)
	}
	envs, err := filepath.Glob(filepath.Join(dir, "env-*"))
	if err != nil || len(envs) != 3 {
		t.Fatalf("%v, %v", envs, err)
	}
	for _, path := range envs {
		text, _ := os.ReadFile(path)
		if !strings.Contains(string(text), "ASSAY_JOIN_TOKEN=the-token\n") || strings.Contains(string(text), "secret") {
			t.Errorf("environment %s", text)
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "args-*"))
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, path := range all {
		text, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "worker --join https://127.0.0.1:7077 --dir ") || strings.Contains(string(text), "the-token") {
			t.Errorf("arguments %s", text)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "assay-fleet-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestWorkersThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if _, err := (local.Engine{}).Start(t.Context(), fleet.Launch{Executable: "/no/such/program", Workers: 2}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start worker 0") {
		t.Errorf("no program: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere"))
	if _, err := (local.Engine{}).Start(t.Context(), fleet.Launch{Executable: "/bin/true", Workers: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
