// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/hint"
)

// CheckOutputFile returns an error if a file, the value of an option, is in no existing
// folder or is a folder itself: before minutes are spent on its content.
func CheckOutputFile(option, path string) error {
	dir := filepath.Dir(path)
	const another = "name a file in an existing folder"
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(fmt.Errorf("%s %s cannot be written: %s: %w", option, path, dir, errors.Unwrap(err)), "create the folder first: mkdir -p "+dir)
	case err != nil: // also where a parent is a file
		return hint.With(fmt.Errorf("%s %s cannot be written: %s: %w", option, path, dir, errors.Unwrap(err)), another)
	case !info.IsDir():
		return hint.With(fmt.Errorf("%s %s cannot be written: %s is not a folder", option, path, dir), another)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return hint.With(fmt.Errorf("%s %s is a folder", option, path), fmt.Sprintf("name a file in it, like: %s %s", option, filepath.Join(path, "comparison.html")))
	}
	return nil
}
