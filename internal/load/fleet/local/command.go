package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/wire"
)

// Command is an engine that runs a command of the user once for each worker, which starts the
// worker, here or elsewhere, and ends with it.
type Command struct {
	Args []string // a single one is for the shell
}

var _ fleet.Engine = Command{}

// commands are the running commands, each in a process group of its own.
type commands struct {
	ended chan fleet.Ended
	all   crash.Group

	mu   sync.Mutex
	left map[int]bool // groups that may have processes
}

// groupEvery is how often a process group is looked at until it is empty.
const groupEvery = 20 * time.Millisecond

// Start starts the commands. When one cannot be started the others are ended.
func (e Command) Start(_ context.Context, l fleet.Launch) (fleet.Workers, error) {
	mask.Add(l.Token)
	c := &commands{ended: make(chan fleet.Ended, l.Workers), left: map[int]bool{}}
	for i := range l.Workers {
		if err := c.start(e.Args, i, l); err != nil {
			return nil, errors.Join(fmt.Errorf("start the command of worker %d: %w", i, err), c.Close())
		}
	}
	return c, nil
}

func (c *commands) start(args []string, number int, l fleet.Launch) error {
	if len(args) == 1 {
		args = []string{"sh", "-c", args[0]}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(environment(), wire.EnvJoin+"="+l.Address, wire.EnvJoinToken+"="+l.Token, wire.EnvWorker+"="+strconv.Itoa(number))
	cmd.Stdout, cmd.Stderr = write, write
	child, err := process.Start(cmd, process.TiedGently)
	_ = write.Close() // the command has its own
	if err != nil {
		return errors.Join(err, read.Close())
	}
	c.mu.Lock()
	c.left[child.PID] = true
	c.mu.Unlock()
	c.all.Go(func() {
		_ = child.Err()
		c.stop(child.PID) // what the command has left
		// A process that has left the group may still have the pipe.
		_ = read.SetReadDeadline(time.Now().Add(time.Second))
	})
	c.all.Go(func() {
		output := lastLine(read)
		_ = read.Close()
		c.ended <- fleet.Ended{Name: fmt.Sprintf("the command of worker %d", number), Status: status(child.Err()), Output: mask.Line(output, maxLine)}
	})
	return nil
}

// maxLine is how much of a command's last line is shown, bytes.
const maxLine = 300

// environment is that of this process without its own variables and without secrets. What each
// worker needs stays: a path may contain a short password.
func environment() (all []string) {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(passed, name) || !strings.HasPrefix(name, "ASSAY_") && !mask.Holds(value) {
			all = append(all, pair)
		}
	}
	return all
}

// signal signals a process group, and reports whether it has processes. A group that had none
// once is not signalled any more: its number may be that of another.
func (c *commands) signal(group int, sig syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[group] && errors.Is(syscall.Kill(-group, sig), syscall.ESRCH) {
		delete(c.left, group)
	}
	return c.left[group]
}

func (c *commands) signalAll(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for group := range c.left {
		_ = syscall.Kill(-group, sig) // it may have ended meanwhile
	}
}

// stop ends a process group: at first gently.
func (c *commands) stop(group int) {
	c.signal(group, syscall.SIGTERM)
	for end := time.Now().Add(closeTimeout); c.signal(group, 0); time.Sleep(groupEvery) {
		if time.Now().After(end) {
			c.signal(group, syscall.SIGKILL)
			return
		}
	}
}

// Ended receives how each command ended.
func (c *commands) Ended() <-chan fleet.Ended { return c.ended }

// Obstacles is empty: nothing is known but that a command runs.
func (c *commands) Obstacles() []string { return nil }

// Resume lets suspended processes go on.
func (c *commands) Resume() { c.signalAll(syscall.SIGCONT) }

// Kill ends the commands, and what they have started in their groups, at once.
func (c *commands) Kill() { c.signalAll(syscall.SIGKILL) }

// Close ends the commands that still run. Kill, meanwhile, makes it end at once.
func (c *commands) Close() error {
	c.Resume()
	c.mu.Lock()
	var groups []int
	for group := range c.left {
		groups = append(groups, group)
	}
	c.mu.Unlock()
	for _, group := range groups {
		c.all.Go(func() { c.stop(group) })
	}
	c.all.Wait()
	return nil
}
