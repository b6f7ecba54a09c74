// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"assay.dev/assay/internal/hint"
)

// ErrInUse: another process appends to the record.
var ErrInUse = hint.With(errors.New("another process is writing the record"),
	"wait until that run has ended, or end its process")

// lockFile is in the run folder while the record is not sealed. Its writer has locked
// it; the kernel releases the lock when the writer ends in any way.
const lockFile = ".writer.lock"

// lock locks a run folder for one writer. flag is os.O_CREATE for a new one.
func lock(dir string, flag int) (*flock.Flock, error) {
	l := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(flag|os.O_RDWR))
	locked, err := l.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported): // by the file system
		return l, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", lockFile)
	case err != nil:
		return nil, fmt.Errorf("lock run folder: %w", err)
	case !locked:
		return nil, ErrInUse
	}
	return l, nil
}

// unlock releases the lock, and removes its file where the record cannot be continued.
func (w *Writer) unlock(remove bool) {
	if remove {
		_ = os.Remove(w.lock.Path()) // a file that is left does no harm
	}
	_ = w.lock.Unlock() // the end of the process would
}
