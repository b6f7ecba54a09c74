package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is the state of a run folder.
type Folder struct {
	Path string
	At   string // the nearest existing folder, Path or a parent
	Err  error  // why nothing can be written there
	Free int64  // bytes; -1: unknown

	Files int64 // that can still be made (free inodes); -1: unknown, or not limited
}

// ExamineFolder makes a temporary folder in dir, or in its nearest existing parent,
// writes a file in it, and removes both. Checking permissions would not be enough: root
// may write anywhere, but not to a read-only file system.
func ExamineFolder(dir string) Folder {
	f := Folder{Path: dir, Free: -1, Files: -1}
	at, err := existing(dir)
	if err == nil {
		err = tryToWrite(at)
	}
	f.At, f.Err = at, err
	var stat unix.Statfs_t
	if unix.Statfs(at, &stat) == nil {
		f.Free = int64(stat.Bavail) * stat.Bsize
		if stat.Files > 0 { // btrfs and others make inodes as they are needed
			f.Files = int64(stat.Ffree)
		}
	}
	return f
}

// existing is dir, or its nearest existing parent.
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
	temp, err := os.MkdirTemp(dir, ".assay-doctor-*")
	if err != nil {
		return err
	}
	// On a full disk an empty file may still be created: write content.
	err = os.WriteFile(filepath.Join(temp, "tried"), []byte("assay"), 0o600)
	return errors.Join(err, os.RemoveAll(temp))
}
