package localstack_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay.dev/assay/internal/localstack"
)

// One run at a time can reserve a stack. If the stack is not started, no folder is left.
func TestReserve(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "stack")
	for range 2 {
		release, err := localstack.Reserve(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := localstack.Reserve(dir); !errors.Is(err, localstack.ErrInUse) {
			t.Errorf("a second run: %v", err)
		}
		other, err := localstack.Reserve(dir + "2")
		if err != nil {
			t.Errorf("a stack of another folder: %v", err)
		} else {
			other()
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		release()
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
