package worker

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func quiet(string, ...any) {}

func message(n, size int) item {
	return item{frames: n%2 == 0, sequence: uint64(n), body: bytes.Repeat([]byte{byte(n)}, size)}
}

// take removes the oldest message, which must be message n.
func take(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *spool, n, size int,
) {
	t.Helper()
	got, found, err := s.first()
	want := message(n, size)
	if err != nil || !found || got.frames != want.frames || got.sequence != want.sequence || !bytes.Equal(got.body, want.body) {
		t.Fatalf("message %d: %v, %t, %v", n, got.sequence, found, err)
	}
	s.remove()
}

// Messages leave in the order in which they came, from memory and from disk, however
// both alternate.
func TestSpoolKeepsOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(dir, quiet)
		defer s.free()
		sizes := map[int]int{}
		in, out := 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				sizes[in] = rapid.SampledFrom([]int{0, 1, 1000, inMemory / 3, inMemory}).Draw(t, "size")
				if err := s.push(message(in, sizes[in])); err != nil {
					t.Fatal(err)
				}
				in++
			} else if out < in {
				take(t, s, out, sizes[out])
				out++
			}
			if s.waiting() != in-out || s.size > inMemory {
				t.Fatalf("%d wait, want %d; %d bytes in memory", s.waiting(), in-out, s.size)
			}
		}
		for ; out < in; out++ {
			take(t, s, out, sizes[out])
		}
		if _, found, err := s.first(); found || err != nil {
			t.Fatalf("one too many, %v", err)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// The file shrinks when its messages are delivered.
func TestSpoolFreesDisk(t *testing.T) {
	s := newSpool(t.TempDir(), quiet)
	defer s.free()
	for n := range 20 {
		if err := s.push(message(n, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		info, err := s.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size() != 12<<20 {
		t.Errorf("%d bytes on disk", size())
	}
	for n := range 20 {
		take(t, s, n, 1<<20)
	}
	if size() != 0 {
		t.Errorf("%d bytes on disk after the delivery", size())
	}
}

// fullDisk is a folder on a disk of one page.
func fullDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "none", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount a small disk (it takes root): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, out)
		}
	})
	return dir
}

// With a full disk messages stay in memory, up to a limit; nothing that was taken is
// lost or out of order.
func TestSpoolOnFullDisk(t *testing.T) {
	for name, dir := range map[string]string{"full": fullDisk(t), "missing": filepath.Join(t.TempDir(), "nowhere")} {
		t.Run(name, func(t *testing.T) {
			s := newSpool(dir, quiet)
			defer s.free()
			const size = 1 << 20
			taken := 0
			var err error
			for ; err == nil && taken < 100; taken++ {
				err = s.push(message(taken, size))
			}
			taken--
			if !errors.Is(err, errSpoolFull) || taken != inMemoryOnly/size {
				t.Errorf("%d messages were taken: %v", taken, err)
			}
			if name == "full" && !strings.Contains(err.Error(), "no space left on device") {
				t.Errorf("the cause is missing: %v", err)
			}
			for n := range taken {
				take(t, s, n, size)
			}
			if err := s.push(message(1, size)); err != nil {
				t.Errorf("not taken after the delivery: %v", err)
			}
		})
	}
}

// A disk that fills while messages are on it refuses further ones, which wait in memory:
// the order stays, and the worker says so once.
func TestSpoolOnDiskThatFills(t *testing.T) {
	const size = 10 << 10 // six of which fit on the disk
	var said []string
	s := newSpool(fullDisk(t), func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	defer s.free()
	s.inMemory = 2 * size
	for n := range 20 {
		if err := s.push(message(n, size)); err != nil {
			t.Fatal(err)
		}
	}
	if s.stored != 6 || s.size != 14*size || len(said) != 1 || !strings.Contains(said[0], "no space left on device") {
		t.Errorf("%d messages are on disk, %d bytes in memory; said %q", s.stored, s.size, said)
	}
	for n := range 20 {
		take(t, s, n, size)
	}
	for n := range 4 {
		if err := s.push(message(n, size)); err != nil {
			t.Fatal(err)
		}
	}
	if s.stored != 2 || len(said) != 1 {
		t.Errorf("%d messages are on the disk, which has room again; said %q", s.stored, said)
	}
}

// A closed spool takes no more, and delivers what it has.
func TestSpoolIsClosed(t *testing.T) {
	s := newSpool(t.TempDir(), quiet)
	if err := s.push(message(0, 1)); err != nil {
		t.Fatal(err)
	}
	<-s.wake
	s.close()
	<-s.wake
	if err := s.push(message(1, 1)); err == nil || !s.isClosed() {
		t.Error("a closed spool takes a message")
	}
	take(t, s, 0, 1)
}

// The log is delivered whole and in order; what had no room is counted.
func TestLogBuffer(t *testing.T) {
	l := &logBuffer{}
	var want, got []byte
	deliver := func() {
		for {
			offset, text := l.next()
			if len(text) == 0 {
				return
			}
			if offset != int64(len(got)) || len(text) > maxPart {
				t.Fatalf("a part of %d bytes at %d, want %d", len(text), offset, len(got))
			}
			got = append(got, text...)
			l.delivered(len(text))
		}
	}
	for n := range 200 {
		line := fmt.Appendf(nil, "line %d %s\n", n, strings.Repeat("x", rand.IntN(40_000)))
		want = append(want, line...)
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
		if rand.IntN(4) == 0 {
			deliver()
		}
	}
	deliver()
	if !bytes.Equal(got, want) {
		t.Error("the log is not what was written")
	}
	long := bytes.Repeat([]byte("x"), maxLog)
	for _, text := range [][]byte{long, []byte("no room\n"), []byte("nor for this\n")} {
		if n, err := l.Write(text); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	got = got[:0]
	l.offset = 0
	deliver()
	_, _ = l.Write([]byte("again\n"))
	deliver()
	if text := string(got[maxLog:]); text != "21 bytes of the log are missing: the coordinator did not answer\nagain\n" {
		t.Errorf("after a gap: %q", text)
	}
}
