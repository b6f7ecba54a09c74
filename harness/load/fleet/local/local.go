package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/servers/process"
)

// stopTimeout is how long a worker may take to stop: its iterations are interrupted
// at once, and sending its last frames may take 20 s.
const stopTimeout = 30 * time.Second

// Exit is how a worker ended.
type Exit struct {
	Source string
	Status string // "0", "1", "signal: killed", ...
	Error  string // last error in its log, if it failed
	Logged string // first error or warning of its log
}

// String is one line.
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
	workers []*worker
	done    chan struct{} // closed when all have ended
	ended   chan Exit     // one for each worker, as it ends
}

type worker struct {
	fleet.Worker
	*process.Child
	log  *os.File
	exit Exit // once it has ended
}

// niceness gives workers precedence over other processes on their CPUs, if this
// process may set it (root): a worker needs little CPU, but needs it without delay.
const niceness = -10

// Start starts every worker of the spec as `executable k6 run ...`. When one
// cannot be started the others are stopped.
func Start(s fleet.Spec, executable string) (*Fleet, error) {
	f := &Fleet{done: make(chan struct{}), ended: make(chan Exit, len(s.Plan.Workers))}
	for i := range s.Plan.Workers {
		w, err := start(s, i, executable)
		if err != nil {
			f.watch()
			f.Stop(context.Background())
			return nil, err
		}
		f.workers = append(f.workers, w)
	}
	f.watch()
	return f, nil
}

func start(s fleet.Spec, i int, executable string) (*worker, error) {
	prepared, err := s.Prepare(i)
	if err != nil {
		return nil, err
	}
	w := &worker{Worker: prepared}
	if w.log, err = os.OpenFile(w.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644); err != nil {
		return nil, fmt.Errorf("start worker %d: %w", i, err)
	}
	cmd := exec.Command(executable, append([]string{"k6"}, w.Args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = w.Env, w.log, w.log
	// The workers also end if this process ends without stopping them.
	if w.Child, err = process.StartAtPriority(cmd, process.TiedGently, niceness); err != nil {
		return nil, errors.Join(fmt.Errorf("start worker %d: %w", i, err), w.log.Close())
	}
	return w, nil
}

func (f *Fleet) watch() {
	var all sync.WaitGroup
	for _, w := range f.workers {
		all.Go(func() {
			w.wait()
			f.ended <- w.exit
		})
	}
	go func() { all.Wait(); close(f.done) }()
}

func (w *worker) wait() {
	err := w.Err()
	_ = w.log.Close() // the child wrote to it, not this process
	w.exit = Exit{Source: w.Source, Status: "0", Logged: fleet.FirstProblem(head(w.Log))}
	if err == nil {
		return
	}
	w.exit.Status = err.Error()
	// A killed worker did not log why: the last error in its log has another cause.
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		w.exit.Status = strconv.Itoa(exit.ExitCode())
		if log, err := os.ReadFile(w.Log); err == nil {
			w.exit.Error = fleet.LastError(log)
		}
	}
}

// head reads the beginning of a log, which in an outage has a line per request; nil if
// it cannot be read.
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

// Ended receives each worker's exit as it ends.
func (f *Fleet) Ended() <-chan Exit { return f.ended }

// PIDs are the workers' processes by source.
func (f *Fleet) PIDs() map[string]int {
	pids := map[string]int{}
	for _, w := range f.workers {
		pids[w.Source] = w.PID
	}
	return pids
}

// Stop asks the workers to end, gives them time for their last frames, and kills
// those that have not ended then or when ctx is done. It returns when all have
// ended.
func (f *Fleet) Stop(ctx context.Context) {
	f.signal(syscall.SIGTERM)
	f.signal(syscall.SIGCONT) // a stopped worker receives no other signal
	timer := time.NewTimer(stopTimeout)
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
	for _, w := range f.workers {
		_ = w.Signal(s) // does nothing if the worker has ended
	}
}

// Exits waits for Done and returns the exits of all workers.
func (f *Fleet) Exits() []Exit {
	<-f.done
	exits := make([]Exit, 0, len(f.workers))
	for _, w := range f.workers {
		exits = append(exits, w.exit)
	}
	return exits
}
