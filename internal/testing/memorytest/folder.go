package memorytest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// mount is Linux's tmpfs that every user can write.
	mount = "/dev/shm"
	// minFree is the free space, in bytes, below which folders are made on disk: a dozen
	// servers at a time take about 200 MB each.
	minFree = 6 << 30
)

// Folder returns a folder of the test, which is removed when the test ends.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := Make("assay-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove folder: %v", err)
		}
	})
	return dir
}

// Make makes a folder that the caller removes.
func Make(prefix string) (string, error) { return os.MkdirTemp(Root(), prefix) }

// Root is the folder in which the others are made.
func Root() string {
	var s unix.Statfs_t
	if err := unix.Statfs(mount, &s); err == nil && s.Type == unix.TMPFS_MAGIC && s.Bavail*uint64(s.Bsize) >= minFree && unix.Access(mount, unix.W_OK) == nil {
		return mount
	}
	return os.TempDir()
}
