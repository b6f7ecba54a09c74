package worker

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/record"
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
	const inMemory = 30_000 // far fewer bytes than in production
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(dir, quiet)
		defer s.free()
		s.inMemory = inMemory
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
}

// A long log is delivered without its middle, however it is written.
func TestEndsOfALog(t *testing.T) {
	line := append(bytes.Repeat([]byte("x"), 9_999), '\n')
	for name, writes := range map[string][][]byte{
		"in lines": slices.Repeat([][]byte{line}, 3_000), "at once": {bytes.Repeat(line, 3_000)},
	} {
		l := &logBuffer{}
		for _, text := range append(writes, []byte("the last words\n")) {
			if n, err := l.Write(text); n != len(text) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			if kept := len(l.text) + len(l.tail); kept > record.MaxLog {
				t.Fatalf("%s: %d bytes are kept", name, kept)
			}
		}
		l.end()
		got := string(l.text)
		left := 3_000*len(line) + len("the last words\n") - maxHead - maxTail
		if want := fmt.Sprintf("\n%d bytes of the log are left out here\n", left); !strings.Contains(got, want) || !strings.HasSuffix(got, "the last words\n") || len(got) != maxHead+len(want)+maxTail {
			t.Errorf("%s: %d bytes that end with %q", name, len(got), got[len(got)-100:])
		}
	}
}
