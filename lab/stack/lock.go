package stack

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofrs/flock"
)

// lock locks the stack against other commands until the returned function is
// called, or this process ends. It waits for another command to finish.
func (f folder) lock(ctx context.Context, log *slog.Logger) (release func(), err error) {
	lock := flock.New(f.lockFile())
	locked, err := lock.TryLock()
	if err == nil && !locked {
		log.Info("waiting for another stack command on this folder", "dir", f.dir)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock stack: %w", cmp.Or(context.Cause(ctx), err))
	}
	return func() { _ = lock.Unlock() }, nil
}
