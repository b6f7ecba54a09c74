package mysqld

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	s := &Server{layout: l, binary: o.Binary, password: a.Password}
	launch := func(port int) error {
		s.port = port
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
	defer func() {
		if err != nil && lock != nil {
			_ = lock.Close()
		}
	}()
	if err = checkArgs(o.Args); err != nil {
		return l, nil, a, err
	}
	if o.Binary.Path == "" {
		if o.Binary, err = Choose(); err != nil {
			return l, nil, a, err
		}
	}
	if l, err = at(o.Dir); err == nil {
		err = l.make()
	}
	if err == nil {
		lock, err = l.takeLock()
	}
	if err == nil && o.Port != 0 {
		// Before initialising the data folder, which takes seconds.
		if err = process.CheckPort(o.Port); err != nil {
			err = fmt.Errorf("start database server: %w", err)
		}
	}
	if err == nil {
		a, err = l.open(ctx, o.Binary, o.Args)
	}
	return l, lock, a, err
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

// Run runs the server program on the data of a stopped server to its end, for options
// with which it only reports something, and returns what it logged.
func Run(ctx context.Context, o Options) (string, error) {
	l, lock, _, err := prepare(ctx, &o)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	cmd := exec.Command(o.Binary.Path, serverArgs(l, o.Port, o.Binary.Flavour, o.Args)...)
	return l.toEnd(ctx, "run database server", startTimeout, cmd, o.Env...)
}

// toEnd runs a command until it or ctx ends, and returns what it logged.
func (l layout) toEnd(ctx context.Context, what string, timeout time.Duration, cmd *exec.Cmd, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	log, err := process.OpenLog(l.log())
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.Env = process.Environment(env...)
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		return "", errors.Join(fmt.Errorf("%s: %w", what, context.Cause(ctx)), child.Kill())
	}
	if err := child.Err(); err != nil {
		return "", failure(what, log, err)
	}
	return log.Written(), nil
}

// DataDir is the data folder of a server on dir.
func DataDir(dir string) string { return layout{dir}.data() }

// Options say which server to start, and where.
type Options struct {
	Dir    string   // holds data, log, socket and password; made if missing
	Port   int      // on 127.0.0.1; 0 = a free one
	Binary Binary   // zero = Choose
	Args   []string // further server options, as --name=value; they override the stack's
	Detach bool     // the server outlives this process
	Group  uint32   // group id of the process; 0 = that of this process
	Env    []string // further variables of its environment
}

// reserved options would make the server leave its folder or the loopback address,
// or replace an option that Start relies on.
var reserved = []string{
	"bind-address", "port", "socket", "datadir", "pid-file", "basedir", "tmpdir", "log-error", "user",
	"init-file", "daemonize", "skip-networking", "skip-grant-tables", "no-defaults",
	"defaults-file", "defaults-extra-file", "defaults-group-suffix", "initialize", "initialize-insecure", "bootstrap",
}

// creation options apply when a data folder is initialised; the server refuses to
// start later with another value.
var creation = []string{
	"innodb-page-size", "innodb-data-file-path", "innodb-undo-tablespaces", "lower-case-table-names",
}

// CreationArgs returns those server options that apply when a data folder is
// initialised.
func CreationArgs(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return !slices.Contains(creation, optionName(arg))
	})
}

func checkArgs(args []string) error {
	for _, arg := range args {
		name := optionName(arg)
		if name == "" {
			return fmt.Errorf("server option %q: want --name=value", arg)
		}
		if slices.Contains(reserved, name) {
			return fmt.Errorf("server option %q: --%s is set by the stack", arg, name)
		}
	}
	return nil
}

// optionName returns the name in --name=value as the manuals write it; the
// servers take underscores as well.
func optionName(arg string) string {
	name, ok := strings.CutPrefix(arg, "--")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "=")
	return strings.TrimPrefix(strings.ReplaceAll(name, "_", "-"), "loose-")
}

// isolated returns the first arguments of every command line of a server.
func isolated() []string {
	args := []string{"--no-defaults"} // must be the very first
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // required to run as root
	}
	return args
}

// serverArgs is the command line of a running server. Durability is that of production
// (redo log and binlog are flushed at every commit), so that commit waits are too.
func serverArgs(l layout, port int, flavour Flavour, extra []string) []string {
	args := append(
		isolated(),
		"--datadir="+l.data(), "--tmpdir="+l.tmp(), "--pid-file="+l.pid(), "--socket="+l.socket(),
		// Debian's MySQL does not start if its default folder does not exist.
		"--secure-file-priv="+l.tmp(),
		"--bind-address="+process.Loopback, "--port="+strconv.Itoa(port),
		"--skip-name-resolve",
		"--max-connections=500", "--max-connect-errors=1000000",
		"--performance-schema=ON",
		"--server-id=1", "--log-bin=binlog", "--sync-binlog=1",
		"--innodb-flush-log-at-trx-commit=1",
		// A soak test writes gigabytes of binlog an hour, which MariaDB keeps by
		// default.
		"--max-binlog-size=128M", "--binlog-expire-logs-seconds=21600",
		"--innodb-buffer-pool-size=256M",
		"--table-open-cache=2000", "--table-definition-cache=1400",
		"--character-set-server=utf8mb4",
		// The ledger compares times, which must not depend on the machine's zone.
		"--default-time-zone=+00:00",
	)
	switch flavour {
	case MySQL:
		args = append(args, "--mysqlx=OFF") // would listen on another port
	case MariaDB:
		args = append(args, "--loose-feedback=OFF", "--binlog-format=ROW")
	}
	return append(args, extra...)
}
