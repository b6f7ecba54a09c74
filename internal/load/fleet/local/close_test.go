//go:build live

package local_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
)

// Close ends the workers that still run, also those that take a while and suspended ones, and
// with Kill those that ignore it.
func TestClose(t *testing.T) {
	budget.CPUs(t, 0.1)
	const obeyed, killed = "105", "signal: killed"
	for name, c := range map[string]struct {
		script, status string
		suspended      bool
	}{
		"obeys": {script: "trap 'sleep 3; exit 105' TERM", status: obeyed}, "ignores": {script: "trap '' TERM", status: killed},
		"is suspended": {script: "trap 'exit 105' TERM; stop=1", status: obeyed, suspended: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := start(t, 2, c.script+"; : > pid-$$; [ -z \"$stop\" ] || kill -STOP $$; while :; do sleep 0.05; done")
			polltest.Until(t, "both workers trap the signal, or are suspended", func() bool {
				all, err := filepath.Glob(filepath.Join(dir, "pid-*"))
				return err == nil && len(all) == 2 && !slices.ContainsFunc(all, func(path string) bool { return suspended(path) != c.suspended })
			})
			if c.status == killed {
				time.AfterFunc(time.Second, f.Kill)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if e := <-f.Ended(); !gone(e.PID) || e.Status != c.status {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// suspended reports whether the process whose number a file's name ends with is.
func suspended(path string) bool {
	_, pid, _ := strings.Cut(filepath.Base(path), "-")
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	return strings.Contains(string(stat), ") T ")
}

// A worker that was suspended goes on with Resume.
func TestResume(t *testing.T) {
	budget.CPUs(t, 0.1)
	f, dir := start(t, 1, ": > ready; kill -STOP $$; exit 7")
	polltest.Until(t, "the worker runs", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	polltest.Until(t, "the worker has ended", func() bool {
		f.Resume()
		select {
		case e := <-f.Ended():
			if e.Status != "7" {
				t.Errorf("%+v", e)
			}
			return true
		default:
			return false
		}
	})
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
