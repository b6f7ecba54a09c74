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

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/memorytest"
)

// copyTemplate copies the data folder of a new server with these options into their folder:
// this saves about two seconds per MySQL server.
func copyTemplate(ctx context.Context, o mysqld.Options) error {
	info, err := os.Stat(o.Binary.Path)
	if err != nil {
		return err
	}
	key := fmt.Sprintln(o.Binary.Path, info.Size(), info.ModTime().UnixNano(), strings.Join(mysqld.CreationArgs(o.Args), " "))
	name := fmt.Sprintf("%s-%x", o.Binary.Flavour, sha256.Sum256([]byte(key)))[:24]
	template, err := memorytest.Template(name, func(dir string) error {
		made := o
		made.Dir = dir
		if err := mysqld.Prepare(ctx, made); err != nil {
			return err
		}
		// It holds the server's UUID, which replication requires to be unique.
		if err := os.Remove(filepath.Join(dir, "data", "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return memorytest.Copy(template, o.Dir)
}
