package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	var got map[string]int
	if err := Read(path, &got); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read of nothing: %v", err)
	}
	// An existing file with a wider mode is replaced, not written into.
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Read(path, &got); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("read of half a file: %v", err)
	}
	if err := Write(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := Read(path, &got); err != nil || got["a"] != 1 {
		t.Errorf("read %v, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Write(path, make(chan int)); err == nil {
		t.Error("wrote a channel")
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
