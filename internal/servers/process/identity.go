package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Identity identifies one process. A pid alone does not: pids are reused, and a
// number read from a file may belong to another program by now.
type Identity struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started_ticks"` // start of the process, in clock ticks after boot
	Boot    string `json:"boot"`          // boot id of the kernel: ticks start again with each boot
}

// pollEvery is the interval at which the end of a process is polled.
const pollEvery = 20 * time.Millisecond

// Of identifies the process that has this pid now.
func Of(pid int) (Identity, error) {
	stat, err := statOf(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Started: stat.Starttime, Boot: boot}, nil
}

// Alive reports whether this process still runs or holds files or ports open. A zombie
// does not: it only waits for its parent, and in a container without an init it is
// never reaped. But the first thread is also a zombie while other threads are still
// ending, with files and ports open.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return false
	}
	stat, err := statOf(id.PID)
	if err != nil || stat.Starttime != id.Started {
		return false
	}
	dead := stat.State == "Z" || stat.State == "X"
	return !dead || stat.NumThreads > 1
}

// Signal sends a signal to this process; if it has ended it does nothing.
func (id Identity) Signal(sig syscall.Signal) error {
	// FindProcess holds a pidfd, so that the process that is found alive after it
	// gets the signal, even if it ends in between.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", id.PID, err)
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// Stop sends SIGTERM, waits up to timeout, then kills the process.
// It returns when the process has ended, with an error if it had to be killed.
func (id Identity) Stop(timeout time.Duration) error {
	if err := id.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if id.awaitEnd(timeout) {
		return nil
	}
	if err := id.Kill(); err != nil {
		return err
	}
	return fmt.Errorf("process %d did not stop within %s and was killed", id.PID, timeout)
}

// Kill ends the process at once (SIGKILL) and returns when it has ended.
func (id Identity) Kill() error {
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	// A process in uninterruptible sleep ends only when the kernel wakes it, which may
	// take as long as a disk hangs.
	if !id.awaitEnd(time.Minute) {
		return fmt.Errorf("process %d survived SIGKILL", id.PID)
	}
	return nil
}

func (id Identity) awaitEnd(timeout time.Duration) bool {
	for end := time.Now().Add(timeout); ; time.Sleep(pollEvery) {
		if !id.Alive() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

var bootID = sync.OnceValues(func() (string, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return "", err
	}
	id, err := proc.SysctlStrings("kernel/random/boot_id")
	return strings.Join(id, ""), err
})
