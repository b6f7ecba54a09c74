//go:build live

package mysqld_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestServer runs the tests that leave a server as it was on one of each flavour.
func TestServer(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 0.5)
		o := mysqldtest.Prepare(t, mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour), Args: []string{"--max_connections=123"}})
		s, err := mysqld.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Kill() })
		t.Run("options", func(t *testing.T) { testOptions(t, s, flavour) })
		t.Run("accounts", func(t *testing.T) { testAccounts(t, s, o.Dir) })
		t.Run("loopback only", func(t *testing.T) { testLoopbackOnly(t, s) })
	})
}

// The server is durable and instrumented as in production, and extra options win.
func testOptions(t *testing.T, s *mysqld.Server, flavour string) {
	db := mysqldtest.Open(t, s.DSN())
	for variable, want := range map[string]string{
		"performance_schema": "1", "log_bin": "1", "sync_binlog": "1", "server_id": "1",
		"innodb_flush_log_at_trx_commit": "1", "bind_address": "127.0.0.1", "port": strconv.Itoa(s.Port()),
		"character_set_server": "utf8mb4", "skip_name_resolve": "1", "max_connections": "123",
		"innodb_buffer_pool_size": "268435456", "time_zone": "+00:00", "binlog_format": "ROW",
	} {
		if got := query1(t, db, "SELECT @@global."+variable); got != want {
			t.Errorf("%s = %q, want %q", variable, got, want)
		}
	}
	if got := query1(t, db, "SELECT VERSION()"); !strings.HasPrefix(got, s.Binary().Version) {
		t.Errorf("version %q, but the binary says %q", got, s.Binary().Version)
	}
	if b := s.Binary(); string(b.Flavour) != flavour {
		t.Errorf("flavour %q, want %q", b.Flavour, flavour)
	}
}

// No login works without the password, which other users cannot read anywhere.
func testAccounts(t *testing.T, s *mysqld.Server, dir string) {
	c, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	if c.User != "root" || c.Addr != fmt.Sprintf("127.0.0.1:%d", s.Port()) || c.DBName != "" || len(c.Passwd) < 20 {
		t.Errorf("DSN has user %q, address %q, database %q, %d bytes of password", c.User, c.Addr, c.DBName, len(c.Passwd))
	}
	db := mysqldtest.Open(t, s.DSN())
	got := query1(t, db, "SELECT GROUP_CONCAT(CONCAT(user, '@', host) ORDER BY host, user) FROM mysql.user WHERE user NOT LIKE 'mysql.%' AND user <> 'mariadb.sys'")
	if want := "root@127.0.0.1,root@localhost"; got != want {
		t.Errorf("accounts %q, want %q", got, want)
	}
	for _, user := range []string{"root", ""} {
		open := *c
		open.User, open.Passwd = user, ""
		if err := ping(open.FormatDSN()); err == nil {
			t.Errorf("user %q gets in without a password", user)
		}
	}

	for _, name := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.Pid(), name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), c.Passwd) || strings.Contains(string(b), "ASSAY_") {
			t.Errorf("%s of the server holds a secret", name)
		}
	}
	var holders []string
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), c.Passwd) {
			info, _ := e.Info()
			holders = append(holders, strings.TrimPrefix(path, dir)+" "+info.Mode().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/account.json -rw-------"}, holders); diff != "" {
		t.Errorf("files that hold the password (-want +got):\n%s", diff)
	}
}

// The only listening TCP socket is that of the server's port.
func testLoopbackOnly(t *testing.T, s *mysqld.Server) {
	var got []string
	for _, l := range listeners(t, s.Pid()) {
		got = append(got, net.JoinHostPort(l.LocalAddr.String(), strconv.FormatUint(l.LocalPort, 10)))
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("127.0.0.1:%d", s.Port())}, got); diff != "" {
		t.Errorf("listens on (-want +got):\n%s", diff)
	}
}

func listeners(t *testing.T, pid int) (found procfs.NetTCP) {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := p.FileDescriptorTargets()
	if err != nil {
		t.Fatal(err)
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	four, err := fs.NetTCP() //nolint:staticcheck // a netlink library only for a test would be one more dependency
	if err != nil {
		t.Fatal(err)
	}
	six, _ := fs.NetTCP6() //nolint:staticcheck // likewise; a kernel may lack it
	const listen = 0x0A
	for _, l := range append(four, six...) {
		for _, target := range targets {
			if l.St == listen && target == fmt.Sprintf("socket:[%d]", l.Inode) {
				found = append(found, l)
			}
		}
	}
	return found
}

// TestNewFolder: the first start on a folder initialises it, also where the path of the
// socket is longer than the 107 bytes of a unix socket's address.
func TestNewFolder(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 0.5)
		dir := filepath.Join(memorytest.Folder(t), strings.Repeat("d", 100), "with space", strings.Repeat("e", 50))
		binary := mysqldtest.Binary(t, flavour)
		if flavour == string(mysqld.MySQL) {
			initialiseFails(t, dir, binary)
		}
		s, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: binary})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "run", "server.sock")); err != nil {
			t.Errorf("socket is elsewhere: %v", err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		noServerOn(t, dir)
	})
}

// initialiseFails starts a server whose initialisation fails: the error is the server's own,
// on one line, and nothing is left that the next start could trip over.
func initialiseFails(t *testing.T, dir string, binary mysqld.Binary) {
	t.Helper()
	binary.Path = filepath.Join(t.TempDir(), "mysqld")
	script := `#!/bin/sh
for arg; do case $arg in --datadir=*) mkdir "${arg#*=}" ;; esac; done
echo '2026-11-20T23:02:32.0Z 1 [ERROR] [MY-012263] [InnoDB] The disk is full' >&2
echo '2026-11-20T23:02:32.0Z 0 [ERROR] [MY-010119] [Server] Aborting' >&2
exit 1
`
	if err := os.WriteFile(binary.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: binary})
	if err == nil || !strings.Contains(err.Error(), "initialise data folder: The disk is full") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	checkEmpty(t, dir)
}
