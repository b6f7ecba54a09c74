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

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

const (
	// startTimeout bounds the start of a server, crash recovery included.
	startTimeout = 3 * time.Minute
	// pingTimeout bounds one ping of a starting server.
	pingTimeout = time.Second
)

// Prepare initialises the data folder as Start would, and starts nothing.
func Prepare(ctx context.Context, o Options) error {
	_, lock, _, err := prepare(ctx, &o)
	if err != nil {
		return err
	}
	return lock.Close()
}

// Start starts a server on o.Dir, which it initialises if there is no data yet,
// and returns when it answers. When it fails, or ctx ends first, nothing is left
// running, and the data folder is either complete or absent.
func Start(ctx context.Context, o Options) (*Server, error) {
	l, lock, a, err := prepare(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // the server keeps its copy
	var s *Server
	launch := func(port int) error {
		s = &Server{layout: l, binary: o.Binary, port: port, password: a.Password}
		return s.launch(ctx, o, lock)
	}
	if o.Port != 0 {
		err = launch(o.Port)
	} else {
		err = process.OnFreePort(launch)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
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
		// Before initialising the data folder, which takes seconds.
		if err := process.CheckPort(o.Port); err != nil {
			return fail(fmt.Errorf("start database server: %w", err))
		}
	}
	if a, err = l.open(ctx, o.Binary, o.Args); err != nil {
		return fail(err)
	}
	return l, lock, a, nil
}

// at returns the layout of a folder, as an absolute path, since the server changes its
// working directory.
func at(dir string) (layout, error) {
	if dir == "" {
		return layout{}, errors.New("start database server: no folder given")
	}
	dir, err := filepath.Abs(dir)
	return layout{dir}, err
}

// launch starts the process and waits until it answers.
func (s *Server) launch(ctx context.Context, o Options, lock *os.File) (err error) {
	if err := s.layout.removeStale(); err != nil {
		return err
	}
	log, err := process.OpenLog(s.layout.log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.binary.Path, serverArgs(s.layout, s.port, s.binary.Flavour, o.Args)...)
	cmd.Env = process.Environment(o.Env...)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.ExtraFiles = []*os.File{lock}
	process.SetGroup(cmd, o.Group)
	life := process.Tied
	if o.Detach {
		life = process.Detached
	}
	if s.child, err = process.Start(cmd, life); err != nil {
		return fmt.Errorf("start database server: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Kill())
		}
	}()
	// At once: if this process is killed now, a detached server must still be found.
	if err := statefile.Write(s.layout.running(), running{s.child.Identity, s.port, s.binary}); err != nil {
		return err
	}
	err = s.child.Await(ctx, startTimeout, func(ctx context.Context) error {
		// The password is random: the server that accepts it is this one.
		ctx, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		return s.Ping(ctx)
	})
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, process.ErrEnded):
		return fmt.Errorf("start database server: %w", err)
	}
	err = failure("start database server", log, s.child.Err())
	// Galera's ports are others.
	if text := err.Error(); strings.Contains(text, "Address already in use") && !strings.Contains(text, "WSREP") {
		err = fmt.Errorf("start database server: %w", process.PortTaken(s.port))
	}
	return err
}
