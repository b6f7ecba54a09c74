package foreign

import "path/filepath"

// ReadLinked is ReadFile for a file that the user names, which may be a link, as those of a
// Kubernetes Secret are.
func ReadLinked(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return ReadFile(real, limit)
}
