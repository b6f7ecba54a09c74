package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

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
	if err == ErrEnded && c.err != nil {
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
