package localstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"assay.dev/assay/internal/hint"
)

// ErrInUse is the error if another run uses the stack.
var ErrInUse = hint.With(
	errors.New("another run uses the local stack: each would measure the other's load, and the first to end would stop it"),
	"wait until it has ended, or run against another service with --target",
)

// Reserve reserves the stack of a folder for one run, until release is called or this
// process ends in any way. Commands that are not runs may still use the stack.
func Reserve(dir string) (release func(), err error) {
	err = os.Mkdir(dir, 0o700)
	created := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make stack folder: %w", err)
	}
	// The lock is on the folder itself: a lock file would remain if the stack does not
	// start, or be removed while another process has locked it.
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("reserve stack: %w", err)
	}
	if !locked {
		return nil, ErrInUse
	}
	return func() {
		if created {
			_ = os.Remove(dir) // fails if a stack was started in it
		}
		_ = lock.Unlock()
	}, nil
}
