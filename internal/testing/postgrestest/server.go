package postgrestest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

const (
	// superuser is the account that initdb creates.
	superuser = "administrator"
	// startTimeout bounds the start, including crash recovery.
	startTimeout = 60 * time.Second
	// stopTimeout bounds a shutdown, which waits for no session.
	stopTimeout = 20 * time.Second
)

// Server is a PostgreSQL server. It listens on loopback only, and on no socket in
// the file system.
type Server struct {
	binary   string
	owner    *syscall.Credential // owner of the process and its files; nil: the current user
	dir      string              // data and log
	port     int
	password string
	settings []string
	child    *process.Child
}

// Start starts a server with these settings ("name=value") in addition to the
// defaults, and ends it with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	// Not t.TempDir, which other users may not enter.
	dir, err := os.MkdirTemp("", "assay-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	return start(t, dir, settings)
}

// StartInMemory starts a server as Start does, with its data in memory: faster, and
// without commit waits.
func StartInMemory(t testing.TB, settings ...string) *Server {
	t.Helper()
	dir, err := memorytest.Make("assay-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	return start(t, dir, settings)
}

// start starts a server in a folder, which is removed with the test.
func start(t testing.TB, dir string, settings []string) *Server {
	t.Helper()
	s := &Server{binary: Binary(t), settings: settings, dir: dir}
	var err error
	if s.owner, err = serverUser(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Kill(), os.RemoveAll(s.dir)); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	if err := s.createData(); err != nil {
		t.Fatalf("initialise PostgreSQL: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Restart starts the server, again after Stop or Kill, on the same data and port, and
// returns when it answers.
func (s *Server) Restart(ctx context.Context) (err error) {
	if s.port == 0 {
		if s.port, err = process.FreePort(); err != nil {
			return err
		}
	}
	log, err := process.OpenLog(s.log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own copy
	args := []string{
		"-D", s.data(), "-h", process.Loopback, "-p", strconv.Itoa(s.port), "-k", "",
		// Otherwise a killed server leaves files in the machine's shared memory.
		"-c", "dynamic_shared_memory_type=mmap",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := command(s.owner, s.dir, s.binary, args...)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	if s.child, err = process.Start(cmd, process.Tied); err != nil {
		return err
	}
	err = s.child.Await(ctx, startTimeout, func(ctx context.Context) error {
		// The password is random: the server that accepts it is this one.
		conn, err := pgx.Connect(ctx, s.DSN())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if errors.Is(err, process.ErrEnded) {
		return fmt.Errorf("%w: %s", err, log.Written())
	}
	return err
}

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// Log is what the server has logged.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log()) // empty: nothing
	return string(text)
}

// DSN is the superuser's DSN of the database postgres.
func (s *Server) DSN() string { return s.DatabaseDSN("postgres") }

// DatabaseDSN is the superuser's DSN of a database.
func (s *Server) DatabaseDSN(database string) string {
	return s.UserDSN(superuser, s.password, database)
}

// UserDSN is a user's DSN of a database.
func (s *Server) UserDSN(user, password, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: process.Address(s.port), Path: "/" + database,
	}
	return u.String()
}

// Address is host and port.
func (s *Server) Address() string { return process.Address(s.port) }

// Stop shuts the server down without waiting for sessions to end ("fast shutdown").
func (s *Server) Stop() error {
	if err := s.child.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-s.child.Done():
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("the server did not stop within %s", stopTimeout)
	}
}

// Kill ends the server and its sessions as a crash does.
func (s *Server) Kill() error {
	if s.child == nil {
		return nil
	}
	err := s.child.Kill()
	// Its child processes end by themselves, and must have ended before the data is
	// removed.
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(20 * time.Millisecond) {
		left, e := s.processes()
		switch {
		case e != nil:
			return errors.Join(err, e)
		case left == 0:
			return err
		case time.Now().After(deadline):
			return errors.Join(err, fmt.Errorf("%d processes of the server are left", left))
		}
	}
}

// processes counts the processes that work in the data folder.
func (s *Server) processes() (n int, err error) {
	folders, err := filepath.Glob("/proc/[0-9]*/cwd")
	for _, folder := range folders {
		dir, err := os.Readlink(folder)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission) {
				continue // it has ended, or is another user's
			}
			return 0, err
		}
		if dir == s.data() {
			n++
		}
	}
	return n, err
}

// Open opens a pool that ends with the test.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Clients is the condition of all sessions that are not the server's own.
const Clients = "backend_type = 'client backend'"

// Await waits until n sessions of pg_stat_activity meet the condition.
func Await(t testing.TB, db *sql.DB, n int, condition string) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("%d sessions: %s", n, condition), func() bool {
		var now int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE " + condition).Scan(&now)
		return err == nil && now == n
	})
}

// EnableTLS turns on TLS with a certificate and its key, both files.
func (s *Server) EnableTLS(t testing.TB, certificate, key string) {
	t.Helper()
	for name, from := range map[string]string{"server.crt": certificate, "server.key": key} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.data(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := chown(s.owner, path); err != nil {
			t.Fatal(err)
		}
	}
	db := Open(t, s.DSN())
	mysqldtest.Exec(t, db, "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	polltest.Until(t, "the server has turned on TLS", func() bool {
		var on string
		return db.QueryRow("SHOW ssl").Scan(&on) == nil && on == "on"
	})
}

// createData copies the data folder of a new server: this saves a second per server.
func (s *Server) createData() error {
	info, err := os.Stat(s.binary)
	if err != nil {
		return err
	}
	key := fmt.Sprintln(s.binary, info.Size(), info.ModTime().UnixNano())
	template, err := memorytest.Template(fmt.Sprintf("postgres-%x", sha256.Sum256([]byte(key)))[:24], func(dir string) error {
		// Its user may not enter the folder of the checkout.
		made := *s
		if made.dir, err = memorytest.Make("assay-postgres-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(made.dir) }()
		if err := made.initialise(); err != nil {
			return err
		}
		return memorytest.Copy(made.dir, dir)
	})
	if err == nil {
		err = memorytest.Copy(template, s.dir)
	}
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, passwordFile)
	password, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.password = string(password)
	return os.Remove(file)
}

// passwordFile has the superuser's password, until the data is copied.
const passwordFile = "password"

// initialise makes the data folder and the superuser.
func (s *Server) initialise() error {
	file := filepath.Join(s.dir, passwordFile)
	if err := os.WriteFile(file, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	if err := errors.Join(chown(s.owner, s.dir), chown(s.owner, file)); err != nil {
		return err
	}
	out, err := command(s.owner, s.dir, sibling(s.binary, "initdb"), "--pgdata", s.data(), "--username", superuser, "--pwfile", file,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
