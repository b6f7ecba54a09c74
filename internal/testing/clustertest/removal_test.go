//go:build long

package clustertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/testing/polltest"
)

// checkRemoved fails if something is left of a cluster.
func checkRemoved(t *testing.T, c *Cluster, before counts) {
	t.Helper()
	for _, folder := range []string{c.dir, c.data} {
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", folder, err)
		}
	}
	if groups, err := filepath.Glob(filepath.Join(controlGroups, "*", c.group)); err != nil || len(groups) > 0 {
		t.Errorf("control groups %v are left: %v", groups, err)
	}
	// Those that were killed are reaped a little later.
	polltest.Until(t, "no process, mount, descriptor or goroutine is left", func() bool {
		now := left(t)
		return now.processes <= before.processes && now.mounts <= before.mounts && now.files <= before.files && now.goroutines <= before.goroutines
	})
}

type counts struct{ processes, mounts, files, goroutines int }

func left(t *testing.T) counts {
	t.Helper()
	processes, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return counts{len(processes), len(mounts), len(files), runtime.NumGoroutine()}
}
