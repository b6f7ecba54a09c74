package record

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// Who keeps files from others by the umask keeps those of a run from them.
func TestFilesFollowTheUmask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	defer syscall.Umask(syscall.Umask(0o077))
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Frame(metric.Frame{Source: "worker/0", Sequence: 1, Second: 1, Closing: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Seal(Facts{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "certificate.json"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if files++; err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil || files < 6 {
		t.Fatal(files, err)
	}
}
