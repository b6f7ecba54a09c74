package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"assay/harness/hint"
)

// ErrInUse is the error where another run uses the stack.
var ErrInUse = hint.With(
	errors.New("another run uses the local stack: each would measure the other's load, and the first to end would stop it"),
	"wait until it has ended, or give this run a service of its own with --target",
)

// Reserve reserves the stack of a folder for one run, until the returned function is
// called or this process ends, however it ends. Other commands may still use the
// stack.
func Reserve(dir string) (leave func(), err error) {
	f, err := at(dir)
	if err != nil {
		return nil, err
	}
	err = os.Mkdir(f.dir, 0o700)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make stack folder: %w", err)
	}
	// The folder itself is locked: a file in it would remain where the stack does
	// not come up, or be removed while another process has it locked.
	lock := flock.New(f.dir, flock.SetFlag(os.O_RDONLY))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("occupy stack: %w", err)
	}
	if !locked {
		return nil, ErrInUse
	}
	return func() {
		if made {
			_ = os.Remove(f.dir) // fails where the stack has come up in it
		}
		_ = lock.Unlock()
	}, nil
}
