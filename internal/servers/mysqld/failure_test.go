//go:build live

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

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
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
		budget.CPUs(t, 0.05)
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
		budget.CPUs(t, 0.5)
		dir := memorytest.Folder(t)
		_, err := mysqld.Start(t.Context(), mysqldtest.Prepare(t, mysqld.Options{
			Dir: dir, Binary: mysqldtest.Binary(t, flavour), Args: []string{"--no-such-thing=1"},
		}))
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
		budget.CPUs(t, 0.5)
		for _, after := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond} {
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

// TestForeignFolder: data of another flavour, or without an account file, is refused.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
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
