package sealed

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// Who may not write to a folder is not told that its disk is full.
func TestFoldersThatCannotBeWritten(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "make room", syscall.EDQUOT: "make room", syscall.EACCES: "let this user write", syscall.EROFS: "let this user write",
	} {
		if got := writable(errors.Join(&fs.PathError{Op: "open", Path: "run", Err: err}, nil)); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
