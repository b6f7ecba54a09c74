package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"assay.dev/assay/internal/servers/scratch"
	"assay.dev/assay/internal/wire"
)

// Engine starts workers on this host.
type Engine struct {
	// Command runs once for each worker, which it starts, here or elsewhere, and with which it
	// ends. A single word is for the shell. nil: this program itself is each worker.
	Command []string
}

var _ fleet.Engine = Engine{}

// Fleet is the running processes, each in a process group of its own.
type Fleet struct {
	Engine
	dir    string       // folder of the workers' temporary files; empty: a command has its own
	remove func() error // removes it
	ended  chan fleet.Ended
	all    crash.Group
	output []fleet.Tail // by number

	mu   sync.Mutex
	left map[int]bool // process groups that may have processes
}

const (
	// niceness gives workers precedence over other processes on their CPUs, if this
	// process may set it (root): a worker needs little CPU, but needs it without delay.
	niceness = -10
	// closeTimeout is how long a worker that was told to end may take: longer than it gives its
	// k6, which may have a teardown() to run.
	closeTimeout = 40 * time.Second
	// groupEvery is how often a process group is looked at until it is empty.
	groupEvery = 20 * time.Millisecond
	// maxLine is how much of the last line that a process printed is shown, bytes.
	maxLine = 300
)

// passed are the variables that each worker needs of this process's environment.
var passed = []string{"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// Start starts the processes. When one cannot be started the others are ended.
func (e Engine) Start(_ context.Context, l fleet.Launch) (_ fleet.Workers, err error) {
	mask.Add(l.Token)
	f := &Fleet{
		Engine: e, remove: func() error { return nil }, left: map[int]bool{},
		ended: make(chan fleet.Ended, l.Workers), output: make([]fleet.Tail, l.Workers),
	}
	if e.Command == nil {
		if f.dir, f.remove, err = scratch.Make("", "assay-fleet-"); err != nil {
			return nil, fmt.Errorf("start workers: %w", err)
		}
	}
	for i := range l.Workers {
		if err := f.start(i, l); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", f.name(i), err), f.Close())
		}
	}
	return f, nil
}

func (f *Fleet) name(number int) string {
	if f.Command == nil {
		return fmt.Sprintf("worker %d", number)
	}
	return fmt.Sprintf("the command of worker %d", number)
}

func (f *Fleet) start(number int, l fleet.Launch) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	// The processes also end if this one ends without stopping them.
	var child *process.Child
	if f.Command == nil {
		child, err = process.StartAtPriority(f.worker(l, write), process.TiedGently, niceness)
	} else {
		child, err = process.Start(f.command(number, l, write), process.TiedGently)
	}
	_ = write.Close() // the child has its own
	if err != nil {
		return errors.Join(err, read.Close())
	}
	f.mu.Lock()
	f.left[child.PID] = true
	f.mu.Unlock()
	f.all.Go(func() {
		_ = child.Err()
		f.stop(child.PID) // what it has left
		// A process that has left the group may still have the pipe.
		_ = read.SetReadDeadline(time.Now().Add(time.Second))
	})
	f.all.Go(func() {
		_, _ = io.Copy(&f.output[number], read) // ends with the process, or a little later
		_ = read.Close()
		e := fleet.Ended{PID: child.PID, Status: wire.StatusOf(child.Err()), Output: f.output[number].LastLine()}
		if f.Command != nil { // the worker is another process, maybe of another host
			e.PID, e.Name, e.Output = 0, f.name(number), mask.Line(e.Output, maxLine)
		}
		f.ended <- e
	})
	return nil
}

// worker is this program as a worker. It gets neither the database's DSN nor the signing key:
// the coordinator sends what a profile allows.
func (f *Fleet) worker(l fleet.Launch, out *os.File) *exec.Cmd {
	cmd := exec.Command(l.Executable, "worker", "--join", l.Here, "--dir", f.dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = []string{wire.EnvJoinToken + "=" + l.Token}
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// command is the user's command for a worker. It has the environment of this process without its
// own variables and without secrets. What each worker needs stays: a path may contain a short
// password.
func (f *Fleet) command(number int, l fleet.Launch, out *os.File) *exec.Cmd {
	args := f.Command
	if len(args) == 1 {
		args = []string{"sh", "-c", args[0]}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(passed, name) || !strings.HasPrefix(name, "ASSAY_") && !mask.Holds(value) {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, wire.EnvJoin+"="+l.Address, wire.EnvJoinToken+"="+l.Token, wire.EnvWorker+"="+strconv.Itoa(number))
	return cmd
}

// signal signals a process group, and reports whether it has processes. A group that had none
// once is not signalled any more: its number may be that of another.
func (f *Fleet) signal(group int, sig syscall.Signal) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left[group] && errors.Is(syscall.Kill(-group, sig), syscall.ESRCH) {
		delete(f.left, group)
	}
	return f.left[group]
}

// groups are those that may have processes.
func (f *Fleet) groups() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.left))
}

func (f *Fleet) signalAll(sig syscall.Signal) {
	for _, group := range f.groups() {
		f.signal(group, sig)
	}
}

// stop ends a process group: at first gently.
func (f *Fleet) stop(group int) {
	f.signal(group, syscall.SIGTERM)
	for end := time.Now().Add(closeTimeout); f.signal(group, 0); time.Sleep(groupEvery) {
		if time.Now().After(end) {
			f.signal(group, syscall.SIGKILL)
			return
		}
	}
}

// Ended receives how each process ended.
func (f *Fleet) Ended() <-chan fleet.Ended { return f.ended }

// Obstacles is empty: a process either starts or fails.
func (f *Fleet) Obstacles() []string { return nil }

// Resume lets suspended processes go on.
func (f *Fleet) Resume() { f.signalAll(syscall.SIGCONT) }

// Kill ends the processes, and what they have started in their groups, at once; the k6
// processes of workers end with them.
func (f *Fleet) Kill() { f.signalAll(syscall.SIGKILL) }

// Close ends the processes that still run, and removes the workers' temporary files. Kill,
// meanwhile, makes it end at once.
func (f *Fleet) Close() error {
	f.Resume()
	for _, group := range f.groups() {
		f.all.Go(func() { f.stop(group) })
	}
	f.all.Wait()
	return f.remove()
}

// Printed is the end of what each command has printed, by the name of its log: workers of this
// program print only their progress. Commands end a moment after their workers.
func (f *Fleet) Printed() map[string][]byte {
	all := map[string][]byte{}
	if f.Command == nil {
		return all
	}
	for end := time.Now().Add(time.Second); len(f.groups()) > 0 && time.Now().Before(end); {
		time.Sleep(groupEvery)
	}
	for i := range f.output {
		all[fmt.Sprintf("command-%d.log", i)] = f.output[i].Bytes()
	}
	return all
}
