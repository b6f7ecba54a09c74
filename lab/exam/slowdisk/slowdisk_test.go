package slowdisk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/lab/exam/slowdisk"
)

// TestMain lets the test binary also be a program on a slow disk.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "on" {
		fmt.Fprintln(os.Stderr, slowdisk.Exec(os.Args[2], os.Args[3], os.Args[4:]...))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "flush" {
		runtime.LockOSThread()
		go interrupt(unix.Gettid())
		for range 10 {
			for _, path := range os.Args[2:] {
				if err := flush(path); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}
		return
	}
	os.Exit(m.Run())
}

// interrupt sends a thread the signal that preempts its goroutine, many times a second.
func interrupt(thread int) {
	for range time.Tick(50 * time.Millisecond) {
		_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
	}
}

func flush(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("payment"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// Flushes of the named files are delayed, one at a time, until the delay is set to 0,
// and the program does all its work. Signals to the program do not delay a flush twice.
func TestSlow(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "disk")
	disk, err := slowdisk.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	redo, other := filepath.Join(dir, "redo.1"), filepath.Join(dir, "other")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func() time.Duration {
		t.Helper()
		cmd := exec.Command(self, "on", socket, self, "flush", redo, other)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		start := time.Now()
		if err := processtest.Start(t, cmd).Err(); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	run()
	if n := disk.Calls("redo.*"); n != 0 {
		t.Errorf("%d calls delayed without a slow file", n)
	}
	const delay = 20 * time.Millisecond
	disk.Slow("redo.*", delay)
	took := run()
	if n := disk.Calls("redo.*"); n != 10 || took < 10*delay {
		t.Errorf("%d calls delayed, want 10; they took %s, want at least %s", n, took, 10*delay)
	}
	disk.Slow("redo.*", 0)
	run()
	if n := disk.Calls("redo.*"); n != 10 {
		t.Errorf("%d calls delayed, want 10: the delay was ended", n)
	}
	for _, path := range []string{redo, other} {
		if b, err := os.ReadFile(path); err != nil || string(b) != "payment" {
			t.Errorf("%s holds %q, %v", path, b, err)
		}
	}
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
}
