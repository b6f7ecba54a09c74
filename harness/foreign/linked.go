package foreign

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// ReadLinked is ReadFile for a file that the user names, which may be a link, as those of a
// Kubernetes Secret are.
func ReadLinked(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		at.Op, at.Path = "open", path // not lstat of a part of it, which no reader has asked for
	}
	if err != nil {
		return nil, err
	}
	return ReadFile(real, limit)
}
