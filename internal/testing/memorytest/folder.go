package memorytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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

// Use has all tests of a package make their folders in memory. TestMain calls it before it
// runs them.
func Use() {
	if err := os.Setenv("TMPDIR", Root()); err != nil {
		panic(err) // it has no zero byte
	}
}

// Root is the folder in which the others are made.
func Root() string {
	var s unix.Statfs_t
	if err := unix.Statfs(mount, &s); err == nil && s.Type == unix.TMPFS_MAGIC && s.Bavail*uint64(s.Bsize) >= minFree && unix.Access(mount, unix.W_OK) == nil {
		return mount
	}
	return os.TempDir()
}

// Template returns the path of data that is initialised once for the tests of all packages,
// and copied by each of them (Copy): in the checkout's .cache, until `make clean`. If it is
// not there yet, fill makes it, in an empty folder. The name stands for all that the data
// depends on.
func Template(name string, fill func(dir string) error) (path string, err error) {
	dir, err := templates()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	locked, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = locked.Close() }() // which unlocks it
	if err := unix.Flock(int(locked.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", locked.Name(), err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	partial := path + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.Mkdir(partial, 0o700)); err != nil {
		return "", err
	}
	if err := fill(partial); err != nil {
		return "", errors.Join(err, os.RemoveAll(partial))
	}
	return path, os.Rename(partial, path)
}

// templates is the folder of all templates, in the checkout that the test is run in.
func templates() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			dir = filepath.Join(dir, ".cache", "templates")
			return dir, os.MkdirAll(dir, 0o755)
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the test is not run in a checkout")
		}
	}
}

// Copy copies the content of a folder, with owners and modes, into another, which it makes
// if there is none.
func Copy(from, to string) error {
	// os.CopyFS keeps neither owners, modes nor holes.
	out, err := exec.Command("cp", "-aT", "--reflink=auto", "--sparse=always", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
