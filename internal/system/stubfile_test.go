package system

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// A stub file that would block, or never end, is refused.
func TestStubFilesOfOtherKinds(t *testing.T) {
	t.Parallel()
	pipe, endless := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "endless")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", endless)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, endless} {
		if _, err := readStub(path); !errors.Is(err, foreign.ErrKind) || hint.Of(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
