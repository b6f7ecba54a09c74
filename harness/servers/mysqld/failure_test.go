package mysqld_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/harness/servers/memorytest"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
)

// checkEmpty fails the test if an initialisation or a server is left in dir.
func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"data", "account.json", "init-*"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			t.Errorf("left behind: %q", found)
		}
	}
	noServerOn(t, dir)
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		port := l.Addr().(*net.TCPAddr).Port
		dir := memorytest.Folder(t)
		_, err = mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Port: port, Binary: mysqldtest.Binary(t, flavour)})
		if err == nil {
			t.Fatal("started")
		}
		for _, want := range []string{strconv.Itoa(port), "already in use"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not say %q", err, want)
			}
		}
		checkEmpty(t, dir)
	})
}

func TestUnknownOption(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		dir := memorytest.Folder(t)
		_, err := mysqld.Start(t.Context(), mysqld.Options{
			Dir: dir, Binary: mysqldtest.Binary(t, flavour), Args: []string{"--no-such-thing=1"},
		})
		if err == nil || !strings.Contains(err.Error(), "no-such-thing") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
		noServerOn(t, dir)
	})
}

// TestCancelled: whenever ctx ends, no process is left, and the data folder is either
// absent or complete.
func TestCancelled(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		for _, after := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, time.Second} {
			dir := memorytest.Folder(t)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			s, err := mysqld.Start(ctx, mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)})
			cancel()
			if err == nil {
				_ = s.Kill() // started before ctx ended
				continue
			}
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
				t.Errorf("after %s: %v", after, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
				checkEmpty(t, dir)
			}
			noServerOn(t, dir)
		}
	})
}

// TestInitialiseFails: the error is the server's own, on one line, and the next start
// initialises again.
func TestInitialiseFails(t *testing.T) {
	t.Parallel()
	binary := mysqldtest.Binary(t, "mysql")
	broken := binary
	broken.Path = filepath.Join(t.TempDir(), "mysqld")
	script := `#!/bin/sh
for arg; do case $arg in --datadir=*) mkdir "${arg#*=}" ;; esac; done
echo '2026-11-20T23:02:32.0Z 1 [ERROR] [MY-012263] [InnoDB] The disk is full' >&2
echo '2026-11-20T23:02:32.0Z 0 [ERROR] [MY-010119] [Server] Aborting' >&2
exit 1
`
	if err := os.WriteFile(broken.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := memorytest.Folder(t)
	_, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: broken})
	if err == nil || !strings.Contains(err.Error(), "initialise data folder: The disk is full") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	checkEmpty(t, dir)
	s, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestForeignFolder: data of another flavour, or without an account file, is refused.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	dir := memorytest.Folder(t)
	if err := mysqld.Prepare(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, "mariadb")}); err != nil {
		t.Fatal(err)
	}
	_, err := mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, "mysql")})
	if err == nil || !strings.Contains(err.Error(), "initialised by mariadb") {
		t.Errorf("MySQL on MariaDB's data: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "account.json")); err != nil {
		t.Fatal(err)
	}
	_, err = mysqld.Start(t.Context(), mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, "mariadb")})
	if err == nil || !strings.Contains(err.Error(), "not initialised by assay") {
		t.Errorf("data without an account: %v", err)
	}
}

func TestReservedOption(t *testing.T) {
	for _, arg := range []string{"--port=1", "--bind_address=0.0.0.0", "--loose-socket=/x", "max-connections=1", "--init-file=x"} {
		_, err := mysqld.Start(t.Context(), mysqld.Options{Dir: t.TempDir(), Args: []string{arg}})
		if err == nil || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
