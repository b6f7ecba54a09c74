package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/scratch"
	"assay.dev/assay/internal/wire"
)

// Engine starts workers on this host.
type Engine struct {
	Executable string // this program
}

var _ fleet.Engine = Engine{}

// Fleet is a set of worker processes on this machine.
type Fleet struct {
	dir     string       // of their temporary files
	remove  func() error // removes it
	workers []*process.Child
	ended   chan fleet.Ended // one for each process, as it ends
	all     crash.Group
}

// niceness gives workers precedence over other processes on their CPUs, if this
// process may set it (root): a worker needs little CPU, but needs it without delay.
const niceness = -10

// passed are the variables that each worker needs of this process's environment.
var passed = []string{"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// Start starts each worker as `assay worker --join ADDRESS`. When one cannot be started
// the others are killed.
func (e Engine) Start(_ context.Context, l fleet.Launch) (fleet.Workers, error) {
	dir, remove, err := scratch.Make("", "assay-fleet-")
	if err != nil {
		return nil, fmt.Errorf("start workers: %w", err)
	}
	f := &Fleet{dir: dir, remove: remove, ended: make(chan fleet.Ended, l.Workers)}
	for i := range l.Workers {
		if err := f.start(e.Executable, l.Address, l.Token); err != nil {
			return nil, errors.Join(fmt.Errorf("start worker %d: %w", i, err), f.Close())
		}
	}
	return f, nil
}

func (f *Fleet) start(executable, url, token string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(executable, "worker", "--join", url, "--dir", f.dir)
	// Not the database's DSN and not the signing key: the coordinator sends what a
	// profile allows.
	cmd.Env = []string{wire.EnvJoinToken + "=" + token}
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = write, write
	// The workers also end if this process ends without stopping them.
	w, err := process.StartAtPriority(cmd, process.TiedGently, niceness)
	_ = write.Close() // the worker has its own
	if err != nil {
		return errors.Join(err, read.Close())
	}
	f.workers = append(f.workers, w)
	f.all.Go(func() {
		output := lastLine(read)
		_ = read.Close()
		f.ended <- fleet.Ended{PID: w.PID, Status: status(w.Err()), Output: output}
	})
	return nil
}

func status(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}

// maxOutput is how much of a worker's output is kept, bytes.
const maxOutput = 64 << 10

// lastLine reads the worker's output to its end and returns its last line.
func lastLine(r io.Reader) string {
	var tail []byte
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		tail = append(tail, buffer[:n]...)
		tail = tail[max(0, len(tail)-maxOutput):]
		if err != nil {
			break
		}
	}
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "assay: ")
}

// Ended receives how each process ended.
func (f *Fleet) Ended() <-chan fleet.Ended { return f.ended }

// Obstacles is empty: a process either starts or fails.
func (f *Fleet) Obstacles() []string { return nil }

// Resume lets suspended workers go on: they must hear that they are to stop.
func (f *Fleet) Resume() {
	for _, w := range f.workers {
		_ = w.Signal(syscall.SIGCONT) // does nothing if it has ended
	}
}

// Kill ends the workers at once; their k6 processes end with them.
func (f *Fleet) Kill() {
	for _, w := range f.workers {
		_ = w.Signal(syscall.SIGKILL) // does nothing if it has ended
	}
}

// closeTimeout is how long a worker that was told to end may take: longer than it gives its
// k6, which may have a teardown() to run.
const closeTimeout = 40 * time.Second

// Close ends the workers that still run, and removes their temporary files. Kill, meanwhile,
// makes it end at once.
func (f *Fleet) Close() error {
	f.Resume()
	var stopping crash.Group
	for _, w := range f.workers {
		stopping.Go(func() { _ = w.Stop(closeTimeout) }) // kills after the limit
	}
	stopping.Wait()
	f.all.Wait()
	return f.remove()
}
