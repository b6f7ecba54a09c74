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

	"assay/harness/servers/memorytest"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
)

// TestOptions: the server is durable and instrumented as in production, and
// extra options win.
func TestOptions(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		s := mysqldtest.StartInMemory(t, flavour, "--max_connections=123")
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
	})
}

// TestAccounts: no login works without the password, which other users cannot read
// anywhere.
func TestAccounts(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		dir := memorytest.Folder(t)
		s, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Kill() })
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
	})
}

// TestLoopbackOnly: the only listening TCP socket is that of the server's port.
func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		s := mysqldtest.StartInMemory(t, flavour)
		var got []string
		for _, l := range listeners(t, s.Pid()) {
			got = append(got, net.JoinHostPort(l.LocalAddr.String(), strconv.FormatUint(l.LocalPort, 10)))
		}
		if diff := cmp.Diff([]string{fmt.Sprintf("127.0.0.1:%d", s.Port())}, got); diff != "" {
			t.Errorf("listens on (-want +got):\n%s", diff)
		}
	})
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
	//lint:ignore SA1019 a netlink library only for a test would be one more dependency
	four, err := fs.NetTCP()
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 a netlink library only for a test would be one more dependency
	six, _ := fs.NetTCP6() // a kernel may lack it
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

// TestDeepFolder: a unix socket address holds 107 bytes.
func TestDeepFolder(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		dir := filepath.Join(memorytest.Folder(t), strings.Repeat("d", 100), "with space", strings.Repeat("e", 50))
		s, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
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
