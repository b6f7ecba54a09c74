package mysqld

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
)

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]Binary{
		"/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))":                                        {Flavour: MySQL, Version: "9.7.4"},
		"mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)\n":                              {Flavour: MySQL, Version: "8.4.3"},
		"mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)":     {Flavour: MySQL, Version: "8.0.36"},
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)":                 {Flavour: MariaDB, Version: "10.11.19"},
		"/usr/sbin/mysqld  Ver 11.4.2-MariaDB-log for Linux on aarch64 (mariadb.org binary distribution)\n\n": {Flavour: MariaDB, Version: "11.4.2"},
	} {
		got, err := parseVersion(out)
		if err != nil {
			t.Errorf("%q: %v", out, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", out, diff)
		}
	}
	for _, out := range []string{"", "hello", "sed (GNU sed) 4.9", "Ver x.y"} {
		if got, err := parseVersion(out); err == nil {
			t.Errorf("%q is taken for %v", out, got)
		}
	}
}

func TestLastError(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"nothing":    {"", ""},
		"no error":   {"2026-11-20 23:06:46 0 [Note] InnoDB: Using io_uring\n\n", "2026-11-20 23:06:46 0 [Note] InnoDB: Using io_uring"},
		"MySQL port": {"2026-11-20T23:06:50.1Z 0 [ERROR] [MY-010262] [Server] Can't start server: Bind on TCP/IP port: Address already in use\n2026-11-20T23:06:50.1Z 0 [ERROR] [MY-010119] [Server] Aborting\n", "Can't start server: Bind on TCP/IP port: Address already in use"},
		"MariaDB lock": {
			"2026-11-20 23:06:46 0 [ERROR] InnoDB: Unable to lock ./ibdata1 error: 11\n2026-11-20 23:06:46 0 [ERROR] Plugin 'InnoDB' init function returned error.\n2026-11-20 23:06:46 0 [ERROR] Unknown/unsupported storage engine: InnoDB\n2026-11-20 23:06:46 0 [ERROR] Aborting\n",
			"InnoDB: Unable to lock ./ibdata1 error: 11",
		},
		"Galera port": {
			"x [ERROR] WSREP: gcs connect failed: Address already in use\nx [ERROR] WSREP: wsrep::connect(gcomm://) failed: 7\nx [ERROR] Aborting\n",
			"WSREP: gcs connect failed: Address already in use",
		},
		"MariaDB bootstrap": {"ERROR: 1396  Operation CREATE USER failed\n2026-11-20 23:06:45 0 [ERROR] Aborting", "1396  Operation CREATE USER failed"},
		"only consequences": {"x [ERROR] Aborting\n", "Aborting"},
	} {
		if got := lastError(c.log); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// No part of a password in a logged statement is in the error, even if the line is
// shortened within it.
func TestFailureHidesPassword(t *testing.T) {
	const password = "KQ7ZW3M5X2"
	mask.Add(password)
	for before := 280; before <= 310; before++ {
		log, err := process.OpenLog(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = log.WriteString("ERROR: " + strings.Repeat("x", before) + password + " is wrong\n")
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(failure("start", log, nil).Error(), " (log: ")
		if strings.Contains(text, password[:1]) {
			t.Errorf("after %d characters: %s", before, text)
		}
		_ = log.Close()
	}
}

func TestFindPrefersMySQL(t *testing.T) {
	found := Find()
	seen := map[string]bool{}
	for i, b := range found {
		if seen[b.Path] {
			t.Errorf("%s twice", b)
		}
		seen[b.Path] = true
		if i > 0 && rank(found[i-1].Flavour) > rank(b.Flavour) {
			t.Errorf("%s is before %s", found[i-1], b)
		}
	}
}
