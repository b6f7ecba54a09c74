package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is where a record would go.
type Folder struct {
	Path string
	Err  error // why nothing can be written there
	Free int64 // bytes; -1: not known
}

// LookAtFolder makes a folder where dir is or would be, writes a file there,
// and removes both: a user who may do everything meets a file system that is
// read-only all the same.
func LookAtFolder(dir string) Folder {
	f := Folder{Path: dir, Free: -1}
	at, err := existing(dir)
	if err == nil {
		err = tryToWrite(at)
	}
	f.Err = err
	var stat unix.Statfs_t
	if unix.Statfs(at, &stat) == nil {
		f.Free = int64(stat.Bavail) * stat.Bsize
	}
	return f
}

// existing is dir, or the nearest folder above it that is there.
func existing(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return dir, err
	}
	for {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			at = filepath.Dir(at)
			continue
		case err != nil:
			return at, err
		case !info.IsDir():
			return at, fmt.Errorf("%s: not a directory", at)
		}
		return at, nil
	}
}

func tryToWrite(dir string) error {
	made, err := os.MkdirTemp(dir, ".assay-doctor-*")
	if err != nil {
		return err
	}
	// Content takes room that a name alone may not.
	err = os.WriteFile(filepath.Join(made, "tried"), []byte("assay"), 0o600)
	return errors.Join(err, os.RemoveAll(made))
}
