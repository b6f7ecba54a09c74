package postgrestest

import (
	"context"
	"crypto/rand"
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

	"assay/harness/servers/process"
)

const (
	// Superuser is the account that initdb creates.
	Superuser = "administrator"
	// startPatience bounds the start, with the recovery after a crash.
	startPatience = 60 * time.Second
	// stopPatience bounds a shutdown, which waits for no session.
	stopPatience = 20 * time.Second
)

// Server is a PostgreSQL server. It listens on loopback only, and on no socket in
// the file system.
type Server struct {
	binary   string
	as       *syscall.Credential
	dir      string // data and log
	port     int
	password string
	settings []string
	child    *process.Child
}

// Start starts a server with these settings ("name=value") besides the defaults, and
// ends it with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := &Server{binary: Binary(t), settings: settings, password: rand.Text()}
	var err error
	if s.as, err = owner(); err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir, which other users may not enter.
	if s.dir, err = os.MkdirTemp("", "assay-postgres-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Kill(), os.RemoveAll(s.dir)); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	if err := s.initialise(); err != nil {
		t.Fatalf("initialise PostgreSQL: %v", err)
	}
	if err := s.Up(t.Context()); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return s
}

// initialise makes the data folder.
func (s *Server) initialise() error {
	if err := own(s.as, s.dir); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "password")
	if err := os.WriteFile(file, []byte(s.password), 0o600); err != nil {
		return err
	}
	if err := own(s.as, file); err != nil {
		return err
	}
	out, err := command(s.as, s.dir, sibling(s.binary, "initdb"), "--pgdata", s.data(), "--username", Superuser, "--pwfile", file,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Remove(file)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Up starts the server, again where it was stopped, and returns when it answers.
func (s *Server) Up(ctx context.Context) (err error) {
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
	args := []string{"-D", s.data(), "-h", process.Loopback, "-p", strconv.Itoa(s.port), "-k", ""}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := command(s.as, s.dir, s.binary, args...)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	if s.child, err = process.Start(cmd, process.Tied); err != nil {
		return err
	}
	err = process.Await(ctx, startPatience, s.child.Done(), func(ctx context.Context) error {
		// The password is random: the server that accepts it is this one.
		conn, err := pgx.Connect(ctx, s.DSN())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err == process.ErrEnded {
		return fmt.Errorf("%w: %w: %s", err, s.child.Err(), log.Written())
	}
	return err
}

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// DSN is the superuser's, of the database postgres.
func (s *Server) DSN() string { return s.As(Superuser, s.password, "postgres") }

// As is a user's DSN of a database.
func (s *Server) As(user, password, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: process.Address(s.port), Path: "/" + database,
	}
	return u.String()
}

// In is the superuser's DSN of a database.
func (s *Server) In(database string) string { return s.As(Superuser, s.password, database) }

// Address is host and port.
func (s *Server) Address() string { return process.Address(s.port) }

// Pid is the process id of the server, which has one child a session.
func (s *Server) Pid() int { return s.child.PID }

// Stop is PostgreSQL's fast shutdown: sessions are ended.
func (s *Server) Stop() error {
	if err := s.child.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-s.child.Done():
		return nil
	case <-time.After(stopPatience):
		return fmt.Errorf("the server did not stop within %s", stopPatience)
	}
}

// Kill ends the server and its sessions as a crash does.
func (s *Server) Kill() error {
	if s.child == nil {
		return nil
	}
	err := s.child.Kill()
	// Its processes end by themselves, and must have ended before its data are
	// removed.
	for deadline := time.Now().Add(stopPatience); ; time.Sleep(20 * time.Millisecond) {
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
		at, err := os.Readlink(folder)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission) {
				continue // it has ended, or is another user's
			}
			return 0, err
		}
		if at == s.data() {
			n++
		}
	}
	return n, err
}
