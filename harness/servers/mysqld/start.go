package mysqld

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/harness/servers/process"
	"assay/harness/servers/statefile"
)

const (
	// startTimeout bounds the start of a server, crash recovery included.
	startTimeout = 3 * time.Minute
	// pingEvery is how often a starting server is asked for an answer.
	pingEvery = 50 * time.Millisecond
	// portTries is how often another free port is tried when somebody takes
	// the one found before the server has bound it.
	portTries = 5
)

// Prepare makes the data folder that Start would make, and starts nothing.
func Prepare(ctx context.Context, o Options) error {
	_, lock, _, err := prepare(ctx, &o)
	if err != nil {
		return err
	}
	return lock.Close()
}

// Start starts a server on o.Dir, which it initialises if there is no data yet,
// and returns when it answers. When it fails, or ctx ends first, nothing is left
// running and no half-made data folder remains.
func Start(ctx context.Context, o Options) (*Server, error) {
	l, lock, a, err := prepare(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // the server keeps its copy
	for try := 1; ; try++ {
		s := &Server{layout: l, binary: o.Binary, port: o.Port, password: a.Password}
		if o.Port == 0 {
			if s.port, err = process.FreePort(); err != nil {
				return nil, err
			}
		}
		err := s.launch(ctx, o, lock)
		switch {
		case err == nil:
			return s, nil
		case !errors.Is(err, process.ErrPortTaken):
			return nil, err
		case o.Port != 0 || try == portTries:
			return nil, portTaken(err)
		}
	}
}

// prepare checks and completes the options and opens the data folder, which
// stays locked.
func prepare(ctx context.Context, o *Options) (l layout, lock *os.File, a account, err error) {
	fail := func(err error) (layout, *os.File, account, error) {
		if lock != nil {
			_ = lock.Close()
		}
		return layout{}, nil, account{}, err
	}
	if err := checkArgs(o.Args); err != nil {
		return fail(err)
	}
	if o.Binary.Path == "" {
		if o.Binary, err = Choose(); err != nil {
			return fail(err)
		}
	}
	if l, err = at(o.Dir); err != nil {
		return fail(err)
	}
	if err := l.make(); err != nil {
		return fail(err)
	}
	if lock, err = l.takeLock(); err != nil {
		return fail(err)
	}
	if o.Port != 0 {
		// Before the work of seconds that would be for nothing.
		if err := process.CheckPort(o.Port); err != nil {
			return fail(portTaken(err))
		}
	}
	if a, err = l.open(ctx, o.Binary, o.Args); err != nil {
		return fail(err)
	}
	return l, lock, a, nil
}

func portTaken(err error) error {
	return fmt.Errorf("start database server: %w", err)
}

// at resolves the folder, as the server changes into another one.
func at(dir string) (layout, error) {
	if dir == "" {
		return layout{}, errors.New("start database server: no folder given")
	}
	dir, err := filepath.Abs(dir)
	return layout{dir}, err
}

// launch starts the process and waits until it answers.
func (s *Server) launch(ctx context.Context, o Options, lock *os.File) (err error) {
	if err := s.layout.clear(); err != nil {
		return err
	}
	log, from, err := s.layout.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.binary.Path, serverArgs(s.layout, s.port, s.binary.Flavour, o.Args)...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	life := process.Tied
	if o.Detach {
		life = process.Detached
	}
	if s.child, err = process.Start(cmd, life); err != nil {
		return fmt.Errorf("start database server: %w", err)
	}
	s.id = s.child.Identity
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Kill())
		}
	}()
	// At once: if we are killed now, a detached server must still be found.
	if err := statefile.Write(s.layout.running(), running{s.id, s.port, s.binary}); err != nil {
		return err
	}
	return s.await(ctx, from)
}

func (s *Server) await(ctx context.Context, from int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-s.child.Done():
			err := failure("start database server", s.layout, from, s.child.Err(), s.password)
			if strings.Contains(err.Error(), "Address already in use") {
				err = fmt.Errorf("port %d %w", s.port, process.ErrPortTaken)
			}
			return err
		case <-ctx.Done():
			err := fmt.Errorf("start database server: %w", context.Cause(ctx))
			if last != nil && ctx.Err() == context.DeadlineExceeded {
				err = fmt.Errorf("%w: %w", err, last)
			}
			return err
		case <-tick.C:
			// The password is random, so whoever accepts it is our server.
			ping, cancel := context.WithTimeout(ctx, time.Second)
			last = s.Ping(ping)
			cancel()
			if last == nil {
				return nil
			}
		}
	}
}

// openLog opens the log for appending and says where new lines will begin.
func (l layout) openLog() (*os.File, int64, error) {
	f, err := os.OpenFile(l.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open server log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("open server log: %w", err)
	}
	return f, info.Size(), nil
}

// environment is what a server gets to see: nothing that could change its
// options (MYSQL_*), and none of our secrets (ASSAY_*).
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
