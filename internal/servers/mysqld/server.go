package mysqld

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// Server is a running database server.
type Server struct {
	layout   layout
	binary   Binary
	port     int
	password string
	child    *process.Child
}

// stopTimeout is how long a server may take to shut down cleanly before it is
// killed; it takes about a second unless it has many dirty pages to write.
const stopTimeout = 30 * time.Second

// Attach returns the server that runs on dir, whoever started it. The error
// wraps os.ErrNotExist if none runs there.
func Attach(dir string) (*Server, error) {
	l, err := at(dir)
	if err != nil {
		return nil, err
	}
	var (
		a account
		r running
	)
	if err := errors.Join(statefile.Read(l.account(), &a), statefile.Read(l.running(), &r)); err != nil {
		return nil, fmt.Errorf("attach to server: %w", err)
	}
	if !r.Process.Alive() {
		return nil, fmt.Errorf("attach to server in %s: %w", dir, os.ErrNotExist)
	}
	mask.Add(a.Password)
	return &Server{layout: l, binary: r.Binary, port: r.Port, password: a.Password, child: process.Attach(r.Process)}, nil
}

// DSN is root's, over TCP, without a database, as go-sql-driver/mysql reads it.
func (s *Server) DSN() string { return s.config().FormatDSN() }

func (s *Server) config() *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = "root", s.password, "tcp", process.Address(s.port)
	return c
}

// connector logs nothing: a server that is starting, or cut off, drops connections.
func (s *Server) connector() (driver.Connector, error) {
	c := s.config()
	c.Logger = &mysql.NopLogger{}
	return mysql.NewConnector(c)
}

// Open opens the server as root; it connects when it is used.
func (s *Server) Open() (*sql.DB, error) {
	connector, err := s.connector()
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Port is the TCP port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.child.PID }

// Identity identifies the process of the server.
func (s *Server) Identity() process.Identity { return s.child.Identity }

// Binary is the program that runs.
func (s *Server) Binary() Binary { return s.binary }

// LogFile is where a server on dir writes its errors.
func LogFile(dir string) string { return layout{dir}.log() }

// Alive reports whether the process still runs.
func (s *Server) Alive() bool { return s.child.Alive() }

// Ping fails unless the server accepts a connection.
func (s *Server) Ping(ctx context.Context) error {
	connector, err := s.connector()
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Stop shuts the server down and returns when the process has ended, with an error
// if it had to be killed. It may be called again.
func (s *Server) Stop() error { return s.ended(s.child.Stop(stopTimeout)) }

// Kill ends the server as a crash does (kill -9) and returns when it has ended.
func (s *Server) Kill() error { return s.ended(s.child.Kill()) }

// ended removes the file of the running server; data, log and password stay.
func (s *Server) ended(err error) error {
	if err != nil {
		err = fmt.Errorf("stop database server: %w", err)
	}
	if !s.child.Alive() {
		if gone := os.Remove(s.layout.running()); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// layout is the paths of a server below its folder.
type layout struct{ dir string }

func (l layout) data() string    { return filepath.Join(l.dir, "data") }
func (l layout) log() string     { return filepath.Join(l.dir, "log", "server.log") }
func (l layout) tmp() string     { return filepath.Join(l.dir, "tmp") }
func (l layout) run() string     { return filepath.Join(l.dir, "run") }
func (l layout) pid() string     { return filepath.Join(l.dir, "run", "server.pid") }
func (l layout) running() string { return filepath.Join(l.dir, "run", "server.json") }
func (l layout) account() string { return filepath.Join(l.dir, "account.json") }
func (l layout) lock() string    { return filepath.Join(l.dir, "lock") }

// socket is relative to the data folder, into which both flavours change before
// they bind: an absolute path of more than 107 bytes does not fit into a unix
// socket address, and test folders are easily that deep.
func (l layout) socket() string { return filepath.Join("..", "run", "server.sock") }

// stagingPrefix begins the name of the directory in which a data folder is
// initialised.
const stagingPrefix = "init-"

func (l layout) make() error {
	for _, dir := range []string{l.dir, filepath.Dir(l.log()), l.tmp(), l.run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make server folder: %w", err)
		}
	}
	return nil
}

// removeStaging removes the staging directories of initialisations that were killed.
func (l layout) removeStaging() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			if err := os.RemoveAll(filepath.Join(l.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStale removes the files of a killed server from its run folder. The caller holds
// the lock, so no server uses them; but MySQL refuses to start if the pid in its
// old socket lock file exists, even as a zombie or of another program.
func (l layout) removeStale() error {
	for _, name := range []string{"server.sock", "server.sock.lock", "server.pid", "server.json"} {
		if err := os.Remove(filepath.Join(l.run(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale files: %w", err)
		}
	}
	return nil
}

// account is the file with the server that initialised a data folder and root's
// password.
type account struct {
	Binary   Binary `json:"binary"`
	Password string `json:"password"`
}

// running is the file with the server that was last started on a folder.
type running struct {
	Process process.Identity `json:"process"`
	Port    int              `json:"port"`
	Binary  Binary           `json:"binary"`
}

// ErrRunning: a server already runs on the folder; Attach returns it.
var ErrRunning = errors.New("a database server already runs there")

// takeLock locks the folder. The lock belongs to the open file, which the server
// inherits: it is held as long as this process or the server works on the folder,
// in whatever order they end, and cannot become stale.
func (l layout) takeLock() (*os.File, error) {
	f, err := os.OpenFile(l.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock server folder: %w", err)
	}
	for end := time.Now().Add(lockTimeout); ; time.Sleep(lockEvery) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			_ = f.Close()
			return nil, fmt.Errorf("lock server folder: %w", err)
		case time.Now().After(end):
			_ = f.Close()
			return nil, fmt.Errorf("start in %s: %w", l.dir, ErrRunning)
		}
	}
}

const (
	// lockTimeout allows for a server that was just killed, whose files stay open until
	// the kernel has freed its memory.
	lockTimeout = 2 * time.Second
	lockEvery   = 50 * time.Millisecond
)

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
