// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"io/fs"
	"os"
)

// open opens a file that is no link. A pipe or device is refused before it is opened.
func open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrKind}
	}
	return os.Open(path)
}

// OpenFolder opens a folder that is no link.
func OpenFolder(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrFolder}
	}
	return os.Open(path)
}

// OnDisk is what identifies a file however it is named, and the bytes that it takes on the
// disk. known: the system tells, which Windows does not.
func OnDisk(fs.FileInfo) (id Inode, bytes int64, known bool) { return Inode{}, 0, false }
