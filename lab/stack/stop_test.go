package stack_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/lab/stack"
)

// A stack that a run uses is not stopped.
func TestStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := localstack.Reserve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Stop(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "a run uses the local stack") {
		t.Errorf("a stack that a run uses: %v", err)
	}
	release()
	if err := stack.Stop(t.Context(), dir); err != nil {
		t.Errorf("a stack that no run uses: %v", err)
	}
}
