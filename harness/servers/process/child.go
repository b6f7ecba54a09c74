package process

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Life says how long a child may live.
type Life int

const (
	// Tied children die with this process, however it ends.
	Tied Life = iota
	// Detached children outlive this process and its terminal.
	Detached
)

// Child is a process that this one started. It is reaped as soon as it ends.
type Child struct {
	Identity
	done chan struct{}
	err  error // how it ended; read after done
}

// Start starts cmd. Streams must be nil or files, as a detached child needs
// them after this process is gone.
func Start(cmd *exec.Cmd, life Life) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	switch life {
	case Tied:
		// A group of its own: Ctrl-C in the terminal goes to us alone, and we
		// stop our children in order.
		cmd.SysProcAttr.Setpgid = true
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	case Detached:
		cmd.SysProcAttr.Setsid = true
	}
	c := &Child{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when the *thread* that
		// forked ends, so this goroutine keeps its thread until the child is
		// gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		// Before Wait: until it is reaped, even a child that has already
		// ended is still found.
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
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the child ended; nil after a clean exit. It blocks until then.
func (c *Child) Err() error {
	<-c.done
	return c.err
}

// Stop is Identity.Stop, and the child is reaped when it returns.
func (c *Child) Stop(patience time.Duration) error {
	err := c.Identity.Stop(patience)
	<-c.done
	return err
}

// Kill is Identity.Kill, and the child is reaped when it returns.
func (c *Child) Kill() error {
	if err := c.Identity.Kill(); err != nil {
		return err
	}
	<-c.done
	return nil
}
