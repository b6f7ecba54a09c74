//go:build live

package mysqld_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

func ping(dsn string) error {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return err
	}
	return conn.Close()
}

// TestRestart: data, password and port survive a stop and a crash.
func TestRestart(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 0.5)
		o := mysqldtest.Prepare(t, mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour)})
		s, err := mysqld.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Kill() })
		o.Port = s.Port()
		open := func() *sql.DB {
			db := mysqldtest.Open(t, s.DSN())
			db.SetMaxIdleConns(0) // a shutdown of MySQL waits 2 s for sessions
			return db
		}
		mysqldtest.Exec(t, open(), "CREATE DATABASE d", "CREATE TABLE d.t (i INT PRIMARY KEY)", "INSERT INTO d.t VALUES (0)")
		for i, end := range []func(*mysqld.Server) error{(*mysqld.Server).Stop, (*mysqld.Server).Kill} {
			dsn := s.DSN()
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			if s.Alive() || ping(dsn) == nil {
				t.Fatal("the server is still there")
			}
			if err := s.Stop(); err != nil {
				t.Errorf("stop of a server that has ended: %v", err)
			}
			if _, err := mysqld.Attach(o.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("attach to a server that is gone: %v", err)
			}
			// MySQL's own lock of a server that was killed, whose pid is by
			// now another process's.
			stale := filepath.Join(o.Dir, "run", "server.sock.lock")
			if err := os.WriteFile(stale, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err = mysqld.Start(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if s.DSN() != dsn {
				t.Error("password or port changed")
			}
			db := open()
			mysqldtest.Exec(t, db, "UPDATE d.t SET i = i + 1")
			if got := query1(t, db, "SELECT i FROM d.t"); got != string(rune('1'+i)) {
				t.Errorf("after %d restarts the row has %s", i+1, got)
			}
		}
	})
}

// TestOneServerPerFolder: of several simultaneous starts on a new folder one succeeds,
// and others can attach to its server and stop it.
func TestOneServerPerFolder(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	const flavour = "mariadb" // both are started and ended alike
	o := mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour)}
	const contenders = 3
	var (
		wg      sync.WaitGroup
		servers [contenders]*mysqld.Server
		errs    [contenders]error
		winner  *mysqld.Server
	)
	for i := range contenders {
		wg.Go(func() { servers[i], errs[i] = mysqld.Start(t.Context(), o) })
	}
	wg.Wait()
	for i, s := range servers {
		switch {
		case s != nil && winner != nil:
			t.Error("two servers started on one folder")
		case s != nil:
			winner = s
		case !errors.Is(errs[i], mysqld.ErrRunning):
			t.Errorf("another start failed with %v, want ErrRunning", errs[i])
		}
	}
	if winner == nil {
		t.Fatal("no server started")
	}
	t.Cleanup(func() { _ = winner.Kill() })
	// The starter's own copy of the lock is closed by now: the server
	// itself must hold it.
	if _, err := mysqld.Start(t.Context(), o); !errors.Is(err, mysqld.ErrRunning) {
		t.Errorf("start on the folder of a running server: %v", err)
	}
	other, err := mysqld.Attach(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if other.DSN() != winner.DSN() || other.Pid() != winner.Pid() || other.Binary() != winner.Binary() {
		t.Error("attached to another server")
	}
	if err := other.Stop(); err != nil {
		t.Error(err)
	}
	if winner.Alive() {
		t.Error("still alive after it was stopped by another")
	}
}

// TestParentKilled: a tied server dies with its parent even on kill -9, and its
// folder can be used again.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	const flavour = "mariadb" // both are started and ended alike
	dir := memorytest.Folder(t)
	mysqldtest.Prepare(t, mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
	parent, _ := helper(t, "wait", dir, flavour)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	noServerOn(t, dir)
	s, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestDetached: a detached server outlives its parent, and is found again.
func TestDetached(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	const flavour = "mariadb" // both are started and ended alike
	dir := memorytest.Folder(t)
	mysqldtest.Prepare(t, mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
	parent, pid := helper(t, "leave", dir, flavour)
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
	s, err := mysqld.Attach(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Pid() != pid {
		t.Errorf("attached to %d, want %d", s.Pid(), pid)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	noServerOn(t, dir)
}
