package mysqldtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/harness/servers/memorytest"
	"assay/harness/servers/mysqld"
)

// templates holds data folders to copy; made by Main, removed by it.
var templates struct {
	sync.Mutex
	dir string // "" = no Main: every server initialises its own
}

// Main runs the tests of a package that starts many servers, as memorytest.Main does. One
// data folder of each kind is initialised, which Start copies: this saves about two
// seconds per MySQL server.
//
//	func TestMain(m *testing.M) { os.Exit(mysqldtest.Main(m)) }
func Main(m *testing.M) int {
	return memorytest.Main(m, func(dir string) { templates.dir = dir })
}

// copyTemplate copies the template for these options into their folder.
func copyTemplate(ctx context.Context, o mysqld.Options) error {
	if templates.dir == "" {
		return nil
	}
	// One copy at a time: parallel ones would only compete for the disk.
	templates.Lock()
	defer templates.Unlock()
	args := sha256.Sum256([]byte(strings.Join(mysqld.CreationArgs(o.Args), " ")))
	template := filepath.Join(templates.dir, fmt.Sprintf("%s-%x", o.Binary.Flavour, args[:8]))
	if _, err := os.Stat(template); errors.Is(err, fs.ErrNotExist) {
		made := o
		made.Dir = template + ".partial"
		if err := mysqld.Prepare(ctx, made); err != nil {
			return err
		}
		// It holds the server's UUID, which replication requires to be unique.
		if err := os.Remove(filepath.Join(made.Dir, "data", "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(made.Dir, template); err != nil {
			return err
		}
	}
	return memorytest.Copy(template, o.Dir)
}
