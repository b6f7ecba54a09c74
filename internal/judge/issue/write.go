// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/hint"
)

// checkFolder fails unless a path is a folder, and not a link to one: whoever made the run
// folder may have let it lead elsewhere.
func checkFolder(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = hint.With(fmt.Errorf("%s is not a folder: a link would lead elsewhere", path), "remove it: assay makes the folder")
	}
	return err
}

// writeFiles writes files into a run folder, or into sub below it, each atomically. Nothing
// outside the run folder changes: no link in it is followed.
func writeFiles(run, sub string, files []File) error {
	root, err := os.OpenRoot(run)
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing is written through it any more
	if sub != "" {
		if err := root.Mkdir(sub, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write certificate: %w", err)
		}
		if err := checkFolder(filepath.Join(run, sub)); err != nil {
			return err
		}
		below, err := root.OpenRoot(sub)
		if err != nil {
			return fmt.Errorf("write certificate: %w", err)
		}
		defer below.Close() //nolint:errcheck // likewise
		root = below
	}
	for _, f := range files {
		if err := writeFile(root, f); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(run, sub, f.Name), err)
		}
	}
	return nil
}

// writeFile replaces a file, or a link of that name, at once.
func writeFile(root *os.Root, f File) (err error) {
	temporary := "." + f.Name + "-" + rand.Text()
	out, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = root.Rename(temporary, f.Name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}
