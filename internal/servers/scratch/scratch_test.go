package scratch_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay.dev/assay/internal/servers/scratch"
)

// What a killed process has left is removed by the next one, and nothing else.
func TestFoldersOfKilledProcesses(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	left, other := filepath.Join(parent, "assay-fleet-left"), filepath.Join(parent, "assay-other")
	if err := os.MkdirAll(filepath.Join(left, "assay-worker-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(parent, "assay-fleet-link")); err != nil {
		t.Fatal(err)
	}
	first, removeFirst, err := scratch.Make(parent, "assay-fleet-")
	if err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := scratch.Make(parent, "assay-fleet-")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{left: false, other: true, outside: true, first: true, second: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, remove := range []func() error{removeFirst, removeSecond} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if all, err := filepath.Glob(filepath.Join(parent, "assay-fleet-*")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
