package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/harness/hint"
)

// CheckPlace fails if a file, the value of an option, has no folder to be in, or is a
// folder: before minutes are spent on its content.
func CheckPlace(option, path string) error {
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return hint.With(fmt.Errorf("%s %s cannot be written: %s: %w", option, path, dir, errors.Unwrap(err)), "make the folder first: mkdir -p "+dir)
	case !info.IsDir():
		return hint.With(fmt.Errorf("%s %s cannot be written: %s is no folder", option, path, dir), "name a file in a folder that is there")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return hint.With(fmt.Errorf("%s %s is a folder", option, path), fmt.Sprintf("name a file in it, like: %s %s", option, filepath.Join(path, "comparison.html")))
	}
	return nil
}
