package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// hold locks the stack against other commands until the returned function is
// called, or this process ends. It waits for another command to finish.
func (f folder) hold(ctx context.Context, log *slog.Logger) (release func(), err error) {
	file, err := os.OpenFile(f.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock stack: %w", err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for waited := false; ; waited = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock stack: %w", err)
		}
		if !waited {
			log.Info("waiting for another stack command on this folder", "dir", f.dir)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("lock stack: %w", context.Cause(ctx))
		}
	}
}
