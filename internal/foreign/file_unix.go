// SPDX-License-Identifier: Apache-2.0

//go:build unix

package foreign

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// open opens a file that is no link, without waiting for the writer of a pipe.
func open(path string) (*os.File, error) {
	// O_NONBLOCK changes nothing for a regular file.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) { // a link; a socket
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrKind}
	}
	return f, err
}

// OpenFolder opens a folder that is no link.
func OpenFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
}

// OnDisk is what identifies a file however it is named, and the bytes that it takes on the
// disk. known: the system tells.
func OnDisk(info fs.FileInfo) (id Inode, bytes int64, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Inode{}, 0, false
	}
	return Inode{uint64(stat.Dev), stat.Ino}, stat.Blocks * 512, true //nolint:unconvert // int32 on some systems
}
