package memorytest

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder is the test's alone, can be written, and is gone after the test.
func TestFolder(t *testing.T) {
	var dir string
	t.Run("test", func(t *testing.T) {
		dir = Folder(t)
		if other := Folder(t); other == dir {
			t.Errorf("%s twice", dir)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
