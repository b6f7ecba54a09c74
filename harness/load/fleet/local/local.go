package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/harness/servers/process"
)

// Ended is how the process of a worker ended.
type Ended struct {
	PID    int
	Status string // "0", "2", "signal: killed", ...
	Output string // last line that it printed, without the name of the command; empty: none
}

// Fleet is a set of worker processes on this machine.
type Fleet struct {
	dir     string // of their temporary files
	workers []*process.Child
	ended   chan Ended // one for each process, as it ends
	all     sync.WaitGroup
}

// niceness gives workers precedence over other processes on their CPUs, if this
// process may set it (root): a worker needs little CPU, but needs it without delay.
const niceness = -10

// EnvToken is the environment variable that holds the run's token.
const EnvToken = "ASSAY_JOIN_TOKEN"

// Start starts a number of workers as `executable worker --join url`. When one cannot
// be started the others are killed.
func Start(executable, url, token string, workers int) (*Fleet, error) {
	dir, err := os.MkdirTemp("", "assay-fleet-")
	if err != nil {
		return nil, fmt.Errorf("start workers: %w", err)
	}
	f := &Fleet{dir: dir, ended: make(chan Ended, workers)}
	for i := range workers {
		if err := f.start(executable, url, token); err != nil {
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
	cmd.Env = []string{EnvToken + "=" + token}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
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
		f.ended <- Ended{PID: w.PID, Status: status(w.Err()), Output: output}
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
func (f *Fleet) Ended() <-chan Ended { return f.ended }

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

// closeTimeout is how long a worker that was told to end may take.
const closeTimeout = 2 * time.Second

// Close ends the workers that still run, and removes their temporary files.
func (f *Fleet) Close() error {
	var stopping sync.WaitGroup
	for _, w := range f.workers {
		stopping.Go(func() { _ = w.Stop(closeTimeout) }) // kills after the limit
	}
	stopping.Wait()
	f.all.Wait()
	return os.RemoveAll(f.dir)
}
