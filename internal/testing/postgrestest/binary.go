package postgrestest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/internal/servers/process"
)

// Env names the server program; the other programs of its release are in the same
// folder.
const Env = "ASSAY_TEST_POSTGRES"

// debian is the path in Debian's package.
const debian = "/usr/lib/postgresql/15/bin/postgres"

// Binary returns the server program to test with. A missing one fails the test:
// a suite that skips its servers passes without having tested anything.
func Binary(t testing.TB) string {
	t.Helper()
	path := os.Getenv(Env)
	if path == "" {
		path = debian
	}
	if version, err := exec.Command(path, "--version").Output(); err != nil || !strings.Contains(string(version), "PostgreSQL") {
		t.Fatalf("no PostgreSQL server to test with: %s names %s: %v (run: make test)", Env, path, err)
	}
	return path
}

// serverUser is the user to run the server as, which must not be root; nil: the current
// one.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no user postgres or nobody: the server does not run as root")
}

// chown gives a file or folder to the server's user.
func chown(owner *syscall.Credential, path string) error {
	if owner == nil {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}

// command runs a program of the server's release as the server's user, in dir.
func command(owner *syscall.Credential, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = process.Environment("LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	return cmd
}

// sibling is another program of the same release.
func sibling(binary, program string) string { return filepath.Join(filepath.Dir(binary), program) }
