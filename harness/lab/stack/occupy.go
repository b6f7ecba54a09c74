package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"assay/harness/hint"
)

// ErrOccupied is a stack that a run has for itself.
var ErrOccupied = hint.With(
	errors.New("another run uses the local stack: each would measure the other's load, and the first to end would stop it"),
	"wait until it has ended, or give this run a service of its own with --target",
)

// Occupy takes the stack of a folder for one run, until the returned function is
// called or this process ends, however it does. Other commands may go on using
// the stack.
func Occupy(dir string) (leave func(), err error) {
	f, err := at(dir)
	if err != nil {
		return nil, err
	}
	err = os.Mkdir(f.dir, 0o700)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make stack folder: %w", err)
	}
	// The folder itself is locked: a file in it would be left behind where the
	// stack does not come up, or be removed under another's lock.
	folder, err := os.Open(f.dir)
	if err != nil {
		return nil, fmt.Errorf("occupy stack: %w", err)
	}
	switch err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		_ = folder.Close()
		return nil, ErrOccupied
	case err != nil:
		_ = folder.Close()
		return nil, fmt.Errorf("occupy stack: %w", err)
	}
	return func() {
		if made {
			_ = os.Remove(f.dir) // fails where the stack has come up in it
		}
		_ = folder.Close()
	}, nil
}
