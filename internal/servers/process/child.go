package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/crash"
)

// Life says what happens to a child when this process ends.
type Life int

const (
	// Tied children are killed when this process ends, however it ends.
	Tied Life = iota
	// TiedGently children are sent SIGTERM then.
	TiedGently
	// Detached children outlive this process and its terminal session.
	Detached
)

// Child is a process that this one started, or that Attach found. One that this
// process started is reaped as soon as it ends.
type Child struct {
	Identity
	done chan struct{} // nil after Attach
	err  error         // how it ended; read after done
}

// Attach returns a process that another one started.
func Attach(id Identity) *Child { return &Child{Identity: id} }

// Start starts cmd. Its streams must be nil or files, as a detached child needs them
// after this process has ended.
func Start(cmd *exec.Cmd, life Life) (*Child, error) { return start(cmd, life, cmd.Start) }

// StartAtPriority starts cmd with a nice value if this process may set it (root),
// otherwise with that of this process.
func StartAtPriority(cmd *exec.Cmd, life Life, nice int) (*Child, error) {
	return start(cmd, life, func() error {
		// Priority belongs to a thread and is inherited: it is the calling thread
		// whose priority changes for the moment of the start. The system call's
		// scale is 20 minus the nice value.
		own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err == nil && unix.Setpriority(unix.PRIO_PROCESS, 0, nice) == nil {
			defer func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-own) }() // lowering is always allowed
		}
		return cmd.Start()
	})
}

func start(cmd *exec.Cmd, life Life, fork func() error) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A group or session of its own: Ctrl-C in the terminal reaches this process
	// only, which stops its children in order.
	cmd.SysProcAttr.Setpgid = life != Detached
	cmd.SysProcAttr.Setsid = life == Detached
	switch life {
	case Tied:
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	case TiedGently:
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	c := &Child{done: make(chan struct{})}
	started := make(chan error, 1)
	crash.Go(func() {
		// The kernel sends the parent-death signal when the thread that forked
		// ends (prctl(2)), so this goroutine keeps its thread until the child has
		// ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := fork(); err != nil {
			started <- err
			return
		}
		// Before Wait: a child that has ended can be identified until it is reaped.
		id, err := Of(cmd.Process.Pid)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			started <- err
			return
		}
		c.Identity = id
		started <- nil
		c.err = cmd.Wait()
		close(c.done)
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// SetGroup has a command run under a group id; 0: under that of this process. Its
// supplementary groups stay.
func SetGroup(cmd *exec.Cmd, id uint32) {
	if id != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(os.Geteuid()), Gid: id, NoSetGroups: true}}
	}
}

// Done is closed when a child that this process started has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the child ended; nil after a clean exit. It blocks until then.
func (c *Child) Err() error {
	<-c.done
	return c.err
}

// Await is the function Await for a child that this process started; its error also says
// how the child ended.
func (c *Child) Await(ctx context.Context, timeout time.Duration, ready func(context.Context) error) error {
	err := Await(ctx, timeout, c.done, ready)
	if errors.Is(err, ErrEnded) && c.err != nil {
		return fmt.Errorf("%w: %w", err, c.err)
	}
	return err
}

// Stop is Identity.Stop, and a child that this process started is reaped when it
// returns.
func (c *Child) Stop(timeout time.Duration) error {
	err := c.Identity.Stop(timeout)
	c.reaped()
	return err
}

// Kill is Identity.Kill, and a child that this process started is reaped when it
// returns.
func (c *Child) Kill() error {
	if err := c.Identity.Kill(); err != nil {
		return err
	}
	c.reaped()
	return nil
}

func (c *Child) reaped() {
	if c.done != nil {
		<-c.done
	}
}

// ErrEnded is returned by Await if the process has ended.
var ErrEnded = errors.New("the process exited")

// readyEvery is the interval at which Await calls ready.
const readyEvery = 50 * time.Millisecond

// Await calls ready until it returns nil. It fails with ErrEnded when ended is
// closed (nil: never), with the last error of ready after timeout, and with the
// cause of ctx when that is done.
func Await(ctx context.Context, timeout time.Duration, ended <-chan struct{}, ready func(context.Context) error) error {
	errTimeout := fmt.Errorf("no answer within %s", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		select {
		case <-ended: // another process must have answered
			return ErrEnded
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return ErrEnded
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimeout) {
				return fmt.Errorf("%w: %w", errTimeout, err)
			}
			return context.Cause(ctx)
		}
	}
}

// Log is a file that a child appends to.
type Log struct {
	*os.File
	from int64 // its size when it was opened
}

// OpenLog opens a log for appending; a new one has mode 0600.
func OpenLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &Log{f, info.Size()}, nil
}

// maxWritten bounds the text that Written returns.
const maxWritten = 256 << 10

// Written returns what was appended since OpenLog, at most its last maxWritten bytes;
// "" if it cannot be read.
func (l *Log) Written() string {
	info, err := l.Stat()
	if err != nil {
		return ""
	}
	from := max(l.from, info.Size()-maxWritten)
	text, err := io.ReadAll(io.NewSectionReader(l.File, from, info.Size()-from))
	if err != nil {
		return ""
	}
	return string(text)
}

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
