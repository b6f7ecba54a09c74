// SPDX-License-Identifier: Apache-2.0

//go:build unix

package record

import (
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// noFollow are the flags with which a file is opened that may be a link or a pipe.
const noFollow = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// newPendingFile makes a file that gets its name when it is complete. It is in the same
// folder: another folder may be on a file system that has space when this one is full. It has
// mode 0644, as far as the umask allows.
func newPendingFile(path string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
}
