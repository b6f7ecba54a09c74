package mysqld

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"assay.dev/assay/internal/servers/statefile"
)

// Exists reports whether a folder has the data of a server.
func Exists(dir string) (bool, error) {
	l, err := at(dir)
	if err != nil {
		return false, err
	}
	return exists(l.data())
}

// Copy copies the data and the password of a server that is stopped into another folder,
// whose data, if it has any, it replaces. The copy is another server: without the files of omit,
// which are patterns in the data folder, and without the identity of the first.
func Copy(from, to string, omit ...string) error {
	if err := copyServer(from, to, omit); err != nil {
		return fmt.Errorf("copy database %s: %w", from, err)
	}
	return nil
}

func copyServer(from, to string, omit []string) (err error) {
	source, err := at(from)
	if err != nil {
		return err
	}
	l, err := at(to)
	if err != nil {
		return err
	}
	if err := l.make(); err != nil {
		return err
	}
	for _, one := range []layout{source, l} {
		lock, err := one.takeLock()
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
	}
	if err := l.removeStaging(); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(l.dir, stagingPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	data := filepath.Join(staging, "data")
	// os.CopyFS keeps neither owners, modes nor holes.
	if out, err := exec.Command("cp", "-aT", "--reflink=auto", "--sparse=always", source.data(), data).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, pattern := range append(omit, "auto.cnf") { // MySQL's UUID of the server
		files, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	var a account
	if err := statefile.Read(source.account(), &a); err != nil {
		return err
	}
	if err := os.RemoveAll(l.data()); err != nil {
		return err
	}
	if err := statefile.Write(l.account(), a); err != nil {
		return err
	}
	return os.Rename(data, l.data())
}
