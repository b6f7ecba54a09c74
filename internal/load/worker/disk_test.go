//go:build live

package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
)

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
	t.Parallel()
	budget.CPUs(t, 0.1)
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
	t.Parallel()
	budget.CPUs(t, 0.1)
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
