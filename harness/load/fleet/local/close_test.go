//go:build live

package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/internal/testing/budget"
	"assay/harness/polltest"
)

// Close ends the workers that still run, also suspended ones and those that ignore it.
func TestClose(t *testing.T) {
	budget.CPUs(t, 0.1)
	for name, script := range map[string]string{"obeys": "trap 'exit 105' TERM", "ignores": "trap '' TERM"} {
		t.Run(name, func(t *testing.T) {
			f, dir := start(t, 2, script+"; : > pid-$$; while :; do sleep 0.05; done")
			polltest.Until(t, "both workers trap the signal", func() bool {
				all, err := filepath.Glob(filepath.Join(dir, "pid-*"))
				return err == nil && len(all) == 2
			})
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if e := <-f.Ended(); !gone(e.PID) || e.Status != map[string]string{"obeys": "105", "ignores": "signal: killed"}[name] {
					t.Errorf("%+v", e)
				}
			}
		})
	}
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
