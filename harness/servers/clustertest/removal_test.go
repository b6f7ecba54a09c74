//go:build long

package clustertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"

	"assay/harness/polltest"
)

// Nothing is left of a cluster in which a pod runs; and another can be started after it.
func TestClusterIsRemoved(t *testing.T) {
	before := left(t)
	for range 2 {
		var c *Cluster
		t.Run("cluster", func(t *testing.T) {
			c = Start(t)
			create(t, c, "default", podOf("running", "sleep 600"))
			polltest.Until(t, "the pod runs", func() bool { return podNamed(t, c, "default", "running").Status.Phase == corev1.PodRunning })
		})
		if t.Failed() {
			return
		}
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
