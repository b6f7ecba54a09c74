package scratch

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// lockOf is the lock of a folder. It is on the folder itself, and ends with the process in
// any way.
func lockOf(dir string) *flock.Flock {
	return flock.New(dir, flock.SetFlag(os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW))
}

// Make makes a locked folder in parent; empty: in the system's folder for temporary files.
// It removes those with the same prefix of processes that were killed: nobody has locked them.
func Make(parent, prefix string) (dir string, remove func() error, err error) {
	parent = cmp.Or(parent, os.TempDir())
	entries, _ := os.ReadDir(parent) // who may not read it removes nothing
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			removeUnlocked(filepath.Join(parent, e.Name()))
		}
	}
	for {
		if dir, err = os.MkdirTemp(parent, prefix); err != nil {
			return "", nil, err
		}
		lock := lockOf(dir)
		if err = lock.Lock(); err == nil {
			_, err = os.Lstat(dir)
		}
		if err == nil {
			return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Unlock()) }, nil
		}
		_ = lock.Unlock()
		if !errors.Is(err, fs.ErrNotExist) { // else another process removed it before it was locked
			return "", nil, errors.Join(err, os.Remove(dir))
		}
	}
}

func removeUnlocked(dir string) {
	lock := lockOf(dir)
	if locked, err := lock.TryLock(); err != nil || !locked {
		return // in use, or another user's
	}
	_ = os.RemoveAll(dir) // another process tries again if it fails
	_ = lock.Unlock()
}
