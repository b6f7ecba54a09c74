package foreign

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/internal/mask"
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
	if _, err := parse(""); !errors.Is(err, ErrUnreadable) || err.Error() != ErrUnreadable.Error() {
		t.Errorf("it says what is of no use to who reads it: %v", err)
	}
}

// logged calls f, and returns what it logs.
func logged(t *testing.T, f func()) string {
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	f()
	return log.String()
}

// What a parser says of a text, as it gives up, has no secret of the text, nor a line break.
func TestGuardMasks(t *testing.T) {
	mask.Add("Zq7-word-of-a-parser")
	parse := func(text string) (err error) {
		defer Guard(&err)
		panic("bad text " + text + "\n")
	}
	got := logged(t, func() { _ = parse("Zq7-word-of-a-parser") })
	if !strings.Contains(got, "bad text") || !strings.Contains(got, "at=internal/foreign/foreign_test.go:") || strings.Contains(got, "Zq7") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
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

// A file that the user names may be a link or a pipe, and what never ends is given up.
func TestReadText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(path("file"), []byte("1234"), 0o644), os.Symlink(path("file"), path("link")), syscall.Mkfifo(path("pipe"), 0o644),
		syscall.Mkfifo(path("silent"), 0o644), os.Symlink("/dev/zero", path("endless")),
	); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(path("pipe"), []byte("5678"), 0o644) }()
	for name, want := range map[string]string{"file": "1234", "link": "1234", "pipe": "5678"} {
		if data, err := ReadText(t.Context(), path(name), 4); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]error{"endless": ErrSize, "none": os.ErrNotExist} {
		if _, err := ReadText(t.Context(), path(name), 1<<20); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if data, err := ReadLinked(path("link"), 4); err != nil || string(data) != "1234" {
		t.Errorf("%q, %v", data, err)
	}
	for name, want := range map[string]error{"endless": ErrKind, "silent": ErrKind, "none": os.ErrNotExist} {
		if _, err := ReadLinked(path(name), 4); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadText(ctx, path("silent"), 4); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
