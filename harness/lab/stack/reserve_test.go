package stack_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/harness/lab/stack"
)

// One run at a time has a stack, and leaves nothing behind where it did not
// come up.
func TestReserve(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "stack")
	for range 2 {
		leave, err := stack.Reserve(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stack.Reserve(dir); !errors.Is(err, stack.ErrInUse) {
			t.Errorf("a second run: %v", err)
		}
		other, err := stack.Reserve(dir + "2")
		if err != nil {
			t.Errorf("a stack of another folder: %v", err)
		} else {
			other()
		}
		leave()
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
