//go:build long

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

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/lab/exam/slowdisk"
)

// testbed is a database server on a disk that can be slow. It is restarted if a case
// needs other options.
type testbed struct {
	flavour string
	options mysqld.Options
	disk    *slowdisk.Disk
	server  *mysqld.Server
	wire    *slowWire // between the service of the case and the server
	service int       // pid of the service of the case
}

// schema has the tables of the service and of the exam.
const schema = "shop"

// openTestbed starts a server, which is killed when the test ends.
func openTestbed(t *testing.T, flavour string) *testbed {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "disk")
	disk, err := slowdisk.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	r := &testbed{flavour: flavour, disk: disk}
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
	// With the path of the program itself, next to which MariaDB's setup files are.
	if err := mysqld.Prepare(t.Context(), r.options); err != nil {
		t.Fatalf("prepare %s: %v", flavour, err)
	}
	r.options.Binary.Path = wrapper(t, asProgram, socket, binary.Path)
	r.start(t)
	root := mysqldtest.Open(t, r.server.DSN())
	mysqldtest.Exec(t, root, "CREATE DATABASE "+schema)
	return r
}

// wrapper is a program that runs the test binary with these arguments, followed by its
// own.
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

func (r *testbed) start(t *testing.T) {
	t.Helper()
	var err error
	// Not with the context of a case, which ends before the server should.
	if r.server, err = mysqld.Start(context.Background(), r.options); err != nil {
		t.Fatalf("start %s with %q: %v", r.flavour, r.options.Args, err)
	}
}

// set restarts the server with these additional options, unless it has them.
func (r *testbed) set(t *testing.T, args []string) {
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

// dsn is the DSN of the schema.
func (r *testbed) dsn(t *testing.T) string {
	t.Helper()
	c, err := mysql.ParseDSN(r.server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = schema
	return c.FormatDSN()
}

func (r *testbed) open(t *testing.T) *sql.DB {
	t.Helper()
	return mysqldtest.Open(t, r.dsn(t))
}

// redo is the pattern of the redo log's files.
func (r *testbed) redo() string {
	if r.flavour == string(mysqld.MariaDB) {
		return "ib_logfile*"
	}
	return "#ib_redo*"
}

// binlog is the pattern of the binlog's files.
const binlog = "binlog.0*"

// threads returns the thread ids of a process; none once it has ended.
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
