package processtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/servers/process"
)

// Start starts a command, which is killed with the test, and with it all processes
// of its group.
func Start(t testing.TB, cmd *exec.Cmd) *process.Child {
	t.Helper()
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(-child.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("end %s: %v", cmd, err)
		}
		<-child.Done()
	})
	return child
}

// Suspend sends SIGSTOP to a process, and returns when none of its threads runs. Without
// the wait they go on until the one that the kernel chose to receive the signal has had a
// CPU, which on a busy machine is long enough to respond to a request.
func Suspend(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend process %d: %w", pid, err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		running, err := runningThread(pid)
		if err != nil {
			return fmt.Errorf("suspend process %d: %w", pid, err)
		}
		if running == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("suspend process %d: its thread %d has not stopped", pid, running)
		}
	}
}

// runningThread is a thread of a process that is not stopped, or 0.
func runningThread(pid int) (int, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		stat, err := thread.Stat()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return thread.PID, nil // it has just ended, and may have started another one
		}
		if err != nil {
			return 0, err
		}
		if stat.State != "T" {
			return thread.PID, nil
		}
	}
	return 0, nil
}
