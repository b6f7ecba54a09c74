package stack_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/lab/stack"
)

// TestCancelledBeforeLock checks that a command that waits for another can be cancelled.
func TestCancelledBeforeLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "stack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	for name, f := range map[string]func() error{
		"up":   func() error { _, _, err := stack.Up(ctx, stack.Options{Dir: dir}, nil); return err },
		"down": func() error { return stack.Down(ctx, dir, stack.All) },
	} {
		if err := f(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDownOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if err := stack.Down(t.Context(), dir, stack.All); err != nil {
		t.Error(err)
	}
	s, ps, err := stack.Status(dir)
	if s != nil || err != nil || len(ps) != 3 {
		t.Errorf("status %v %v %v", s, ps, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("a folder was created")
	}
}
