// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"os"
	"path/filepath"
)

// noFollow: Windows has no such flags.
const noFollow = 0

// pendingFile gets its name when it is complete.
type pendingFile struct {
	*os.File
	path string
	done bool
}

func newPendingFile(path string) (*pendingFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, err
	}
	return &pendingFile{File: f, path: path}, nil
}

// CloseAtomicallyReplace gives the file its name.
func (f *pendingFile) CloseAtomicallyReplace() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	f.done = true
	return os.Rename(f.Name(), f.path)
}

// Cleanup removes a file that has not got its name.
func (f *pendingFile) Cleanup() error {
	if f.done {
		return nil
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
