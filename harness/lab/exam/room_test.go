package exam

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"

	"assay/harness/lab/exam/slowdisk"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
)

// room is where the cases of a flavour are examined: one database server, which
// is restarted where a case needs other options, on a disk that can be slow.
type room struct {
	flavour string
	options mysqld.Options
	disk    *slowdisk.Disk
	server  *mysqld.Server
}

// schema is the service's, and that of the exam's own tables.
const schema = "shop"

// openRoom starts a server, which ends with the test.
func openRoom(t *testing.T, flavour string) *room {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "disk")
	disk, err := slowdisk.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	r := &room{flavour: flavour, disk: disk}
	t.Cleanup(func() {
		if r.server != nil {
			if err := r.server.Kill(); err != nil {
				t.Errorf("end %s: %v", flavour, err)
			}
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	binary := mysqldtest.Binary(t, flavour)
	r.options = mysqld.Options{Dir: filepath.Join(dir, "server"), Binary: binary}
	// With the program itself, whose folder holds what MariaDB is made from.
	if err := mysqld.Prepare(t.Context(), r.options); err != nil {
		t.Fatalf("prepare %s: %v", flavour, err)
	}
	r.options.Binary.Path = wrapper(t, asProgram, socket, binary.Path)
	r.start(t)
	root := mysqldtest.Open(t, r.server.DSN())
	mysqldtest.Exec(t, root, "CREATE DATABASE "+schema)
	return r
}

// wrapper is a program that runs the test binary with these arguments before
// its own.
func wrapper(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := "exec"
	for _, arg := range append([]string{self}, args...) {
		line += " '" + arg + "'"
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+line+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *room) start(t *testing.T) {
	t.Helper()
	var err error
	// Not the test's context: a case's ends before the server's life does.
	if r.server, err = mysqld.Start(context.Background(), r.options); err != nil {
		t.Fatalf("start %s with %q: %v", r.flavour, r.options.Args, err)
	}
}

// set has the server run with these options beside the usual ones.
func (r *room) set(t *testing.T, args []string) {
	t.Helper()
	if slices.Equal(args, r.options.Args) {
		return
	}
	if err := r.server.Stop(); err != nil {
		t.Fatal(err)
	}
	r.options.Args = args
	r.start(t)
}

// dsn is of the schema.
func (r *room) dsn(t *testing.T) string {
	t.Helper()
	c, err := mysql.ParseDSN(r.server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = schema
	return c.FormatDSN()
}

func (r *room) open(t *testing.T) *sql.DB {
	t.Helper()
	return mysqldtest.Open(t, r.dsn(t))
}

// redo is how the files of the redo log are called.
func (r *room) redo() string {
	if r.flavour == string(mysqld.MariaDB) {
		return "ib_logfile*"
	}
	return "#ib_redo*"
}

// binlog is how those of the binlog are called.
const binlog = "binlog.0*"

// threads are those of a process; none once it has ended.
func threads(t *testing.T, pid int) (all []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, id)
		}
	}
	return all
}
