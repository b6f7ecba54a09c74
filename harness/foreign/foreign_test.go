package foreign

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	parse := func(text string) (first byte, err error) {
		defer Guard(&err)
		return text[0], nil
	}
	if first, err := parse("a"); first != 'a' || err != nil {
		t.Errorf("%c, %v", first, err)
	}
	_, err := parse("")
	if !errors.Is(err, ErrUnreadable) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

// Whatever is no regular file is refused at once, and without being read.
func TestKindsOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(path("file"), []byte("1234"), 0o644),
		os.Symlink(path("file"), path("link")),
		os.Symlink("/dev/zero", path("endless")),
		os.Symlink(path("none"), path("dangling")),
		os.Mkdir(path("folder"), 0o755),
		syscall.Mkfifo(path("pipe"), 0o644),
		os.WriteFile(path("sparse"), nil, 0o644),
		os.Truncate(path("sparse"), 8<<30),
	); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if data, err := ReadFile(path("file"), 4); err != nil || string(data) != "1234" {
		t.Errorf("%q, %v", data, err)
	}
	for name, want := range map[string]error{
		"link": ErrKind, "endless": ErrKind, "dangling": ErrKind, "folder": ErrKind, "pipe": ErrKind, "socket": ErrKind,
		"sparse": ErrSize, "none": os.ErrNotExist,
	} {
		if _, err := ReadFile(path(name), 1<<20); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := ReadFile(path("file"), 3); !errors.Is(err, ErrSize) {
		t.Errorf("%v", err)
	}
}
