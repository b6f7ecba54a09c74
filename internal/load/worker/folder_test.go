//go:build live

package worker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
)

func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	os.Exit(m.Run())
}

// A worker removes the folder of one that was killed, and not that of one that runs.
func TestFolderOfKilledWorker(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"joined":1,"of":4}`)
	}))
	defer server.Close()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	folders := func() []string {
		found, err := filepath.Glob(filepath.Join(parent, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	start := func() (w *process.Child, dir string) {
		before := folders()
		cmd := exec.Command(executable, "worker", "--join", server.URL, "--dir", parent)
		cmd.Env = []string{"ASSAY_JOIN_TOKEN=token-of-a-test-0123456789"}
		w, err := process.Start(cmd, process.Tied)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Kill() })
		polltest.Until(t, "the worker has a folder", func() bool {
			for _, path := range folders() {
				if !slices.Contains(before, path) {
					dir = path
				}
			}
			return dir != ""
		})
		return w, dir
	}
	running, its := start()
	killed, left := start()
	if err := os.WriteFile(filepath.Join(left, "script.tar"), []byte("tar"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(folders(), left) {
		t.Fatal("a killed worker has removed its folder: this test tests nothing")
	}
	next, another := start()
	if found := folders(); slices.Contains(found, left) || !slices.Contains(found, its) || !slices.Contains(found, another) {
		t.Errorf("folders %v: that of the killed worker is %s, of the others %s and %s", found, left, its, another)
	}
	for _, w := range []*process.Child{running, next} {
		if err := w.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = w.Err() // waits; a worker that did not join ends with 2
	}
	if found := folders(); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}
