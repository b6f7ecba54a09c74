package postgrestest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"assay/harness/servers/memorytest"
)

// template is a server's folder to copy; made by the first start, removed by Main.
var template struct {
	sync.Mutex
	dir      string // "" = no Main: every server initialises its own
	password string // of all copies
}

// Main runs the tests of a package that starts many servers, as memorytest.Main does. One
// data folder is initialised, which Start copies: this saves a second per server.
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
func Main(m *testing.M) int {
	return memorytest.Main(m, func(dir string) { template.dir = filepath.Join(dir, "template") })
}

// createData initialises the data folder, or copies the template's.
func (s *Server) createData() error {
	if template.dir == "" {
		return s.initialise()
	}
	template.Lock()
	defer template.Unlock()
	if _, err := os.Stat(template.dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.initialise(); err != nil {
			return err
		}
		template.password = s.password
		return memorytest.Copy(s.dir, template.dir)
	}
	s.password = template.password
	return memorytest.Copy(template.dir, s.dir)
}

// initialise makes the data folder and the superuser's password.
func (s *Server) initialise() error {
	s.password = rand.Text()
	if err := chown(s.owner, s.dir); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "password")
	if err := os.WriteFile(file, []byte(s.password), 0o600); err != nil {
		return err
	}
	if err := chown(s.owner, file); err != nil {
		return err
	}
	out, err := command(s.owner, s.dir, sibling(s.binary, "initdb"), "--pgdata", s.data(), "--username", superuser, "--pwfile", file,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Remove(file)
}
