package postgrestest

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/testing/memorytest"
)

// createData copies the data folder of a new server: this saves a second per server.
func (s *Server) createData() error {
	info, err := os.Stat(s.binary)
	if err != nil {
		return err
	}
	key := fmt.Sprintln(s.binary, info.Size(), info.ModTime().UnixNano())
	template, err := memorytest.Template(fmt.Sprintf("postgres-%x", sha256.Sum256([]byte(key)))[:24], func(dir string) error {
		// Its user may not enter the folder of the checkout.
		made := *s
		if made.dir, err = memorytest.Make("assay-postgres-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(made.dir) }()
		if err := made.initialise(); err != nil {
			return err
		}
		return memorytest.Copy(made.dir, dir)
	})
	if err == nil {
		err = memorytest.Copy(template, s.dir)
	}
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, passwordFile)
	password, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.password = string(password)
	return os.Remove(file)
}

// passwordFile has the superuser's password, until the data is copied.
const passwordFile = "password"

// initialise makes the data folder and the superuser.
func (s *Server) initialise() error {
	file := filepath.Join(s.dir, passwordFile)
	if err := os.WriteFile(file, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	if err := errors.Join(chown(s.owner, s.dir), chown(s.owner, file)); err != nil {
		return err
	}
	out, err := command(s.owner, s.dir, sibling(s.binary, "initdb"), "--pgdata", s.data(), "--username", superuser, "--pwfile", file,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
