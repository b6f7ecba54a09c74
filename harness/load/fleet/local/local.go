package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/harness/load/fleet"
)

// termWait is how long a worker may take to end after it was asked to: its
// iterations are interrupted at once, the last frames have 20 s.
const termWait = 30 * time.Second

// Exit is how a worker ended.
type Exit struct {
	Source string
	Status string // "0", "1", "signal: killed", ...
	Error  string // last error line of its log, where it failed
	Logged string // first error or warning of its log
}

// String tells it in one line.
func (e Exit) String() string {
	text := e.Source + " ended: " + e.Status
	if _, err := strconv.Atoi(e.Status); err == nil {
		text = e.Source + " ended with status " + e.Status
	}
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// Fleet is a set of running workers.
type Fleet struct {
	processes []*process
	done      chan struct{} // closed when all have ended
	ended     chan Exit     // one for each worker, as it ends
}

type process struct {
	worker fleet.Worker
	cmd    *exec.Cmd
	log    *os.File
	exit   Exit
	done   chan struct{}
}

// Start starts every worker of the spec as `executable k6 run ...`. When one
// cannot be started the others are stopped.
func Start(s fleet.Spec, executable string) (*Fleet, error) {
	f := &Fleet{done: make(chan struct{}), ended: make(chan Exit, len(s.Plan.Workers))}
	for i := range s.Plan.Workers {
		p, err := start(s, i, executable)
		if err != nil {
			f.watch()
			f.Stop(context.Background())
			return nil, err
		}
		f.processes = append(f.processes, p)
	}
	f.watch()
	return f, nil
}

func start(s fleet.Spec, i int, executable string) (*process, error) {
	w, err := s.Prepare(i)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(w.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start worker %d: %w", i, err)
	}
	cmd := exec.Command(executable, append([]string{"k6"}, w.Args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = w.Env, log, log
	// A group of its own: Ctrl-C at the terminal reaches us alone, and we stop
	// the workers in order. Where we are gone without having done so, however
	// that came, the load ends with us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	p := &process{worker: w, cmd: cmd, log: log, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel takes the end of the thread that started the child for that
		// of its parent (prctl(2)), so this goroutine keeps it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startFirst(cmd)
		started <- err
		if err == nil {
			p.wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start worker %d: %w", i, err), log.Close())
	}
	return p, nil
}

// niceness puts workers before what shares their CPUs, where we may (root): a
// worker needs little CPU, but at its instant.
const niceness = -10

// startFirst starts a command with the priority of a worker. Priority belongs
// to a thread and is inherited, so it is our own thread, which the caller holds,
// that is raised for the moment of the start.
func startFirst(cmd *exec.Cmd) error {
	// The system call's scale is 20 minus the nice value.
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) == nil {
		defer func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-own) }() // lowering is always allowed
	}
	return cmd.Start()
}

func (f *Fleet) watch() {
	var all sync.WaitGroup
	for _, p := range f.processes {
		all.Go(func() {
			<-p.done
			f.ended <- p.exit
		})
	}
	go func() { all.Wait(); close(f.done) }()
}

func (p *process) wait() {
	defer close(p.done)
	err := p.cmd.Wait()
	_ = p.log.Close() // the child wrote to it, not we
	p.exit = Exit{Source: p.worker.Source, Status: "0"}
	p.exit.Logged = fleet.FirstComplaint(head(p.worker.Log))
	if err != nil {
		p.exit.Status = err.Error()
		// What was killed did not say why; the last error in its log is another's.
		if code := p.cmd.ProcessState.ExitCode(); code >= 0 {
			p.exit.Status = strconv.Itoa(code)
			if log, err := os.ReadFile(p.worker.Log); err == nil {
				p.exit.Error = fleet.LastError(log)
			}
		}
	}
}

// head reads the beginning of a log, which in an outage holds a line a request;
// of one that cannot be read, nothing.
func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only
	text, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	return text
}

// Done is closed when every worker has ended.
func (f *Fleet) Done() <-chan struct{} { return f.done }

// Ended gives each worker's exit as it ends.
func (f *Fleet) Ended() <-chan Exit { return f.ended }

// PIDs are the workers' processes by source.
func (f *Fleet) PIDs() map[string]int {
	pids := map[string]int{}
	for _, p := range f.processes {
		pids[p.worker.Source] = p.cmd.Process.Pid
	}
	return pids
}

// Stop asks the workers to end, gives them time for their last frames, and
// kills what has not ended then or when ctx is done. It returns when all are
// gone.
func (f *Fleet) Stop(ctx context.Context) {
	f.signal(syscall.SIGTERM)
	timer := time.NewTimer(termWait)
	defer timer.Stop()
	select {
	case <-f.done:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	f.signal(syscall.SIGKILL)
	<-f.done
}

func (f *Fleet) signal(s syscall.Signal) {
	for _, p := range f.processes {
		select {
		case <-p.done:
		default:
			_ = p.cmd.Process.Signal(s) // it may have ended this instant
			if s == syscall.SIGTERM {
				_ = p.cmd.Process.Signal(syscall.SIGCONT) // a stopped worker takes no signal
			}
		}
	}
}

// Exits are the exits of all workers, once Done.
func (f *Fleet) Exits() []Exit {
	<-f.done
	exits := make([]Exit, 0, len(f.processes))
	for _, p := range f.processes {
		exits = append(exits, p.exit)
	}
	return exits
}
