package worker

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

const folderPrefix = "assay-worker-"

// folderLock is the lock of a worker's folder. It is on the folder itself, and ends with
// the worker's process in any way.
func folderLock(dir string) *flock.Flock {
	return flock.New(dir, flock.SetFlag(os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW))
}

// makeFolder makes a locked folder in parent, and removes those of workers that were
// killed: nobody has locked them.
func makeFolder(parent string) (dir string, remove func() error, err error) {
	parent = cmp.Or(parent, os.TempDir())
	entries, _ := os.ReadDir(parent) // who may not read it removes nothing
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), folderPrefix) {
			removeUnlocked(filepath.Join(parent, e.Name()))
		}
	}
	for {
		if dir, err = os.MkdirTemp(parent, folderPrefix); err != nil {
			return "", nil, err
		}
		lock := folderLock(dir)
		if err = lock.Lock(); err == nil {
			_, err = os.Lstat(dir)
		}
		if err == nil {
			return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Unlock()) }, nil
		}
		_ = lock.Unlock()
		if !errors.Is(err, fs.ErrNotExist) { // else another worker removed it before it was locked
			return "", nil, errors.Join(err, os.Remove(dir))
		}
	}
}

func removeUnlocked(dir string) {
	lock := folderLock(dir)
	if locked, err := lock.TryLock(); err != nil || !locked {
		return // in use, or another user's
	}
	_ = os.RemoveAll(dir) // another worker tries again if it fails
	_ = lock.Unlock()
}
