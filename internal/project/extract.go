package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay.dev/assay"
)

// Extract writes the reference scenarios, their profiles and stubs, as they are in this program,
// into a folder, and returns the path of thresholds.json there.
func Extract(dir string) (thresholds string, err error) {
	for _, root := range []string{"thresholds.json", "scenarios", "stubs"} {
		err := fs.WalkDir(assay.Files, root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(assay.Files, path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, data, 0o644)
		})
		if err != nil {
			return "", fmt.Errorf("write the reference scenarios: %w", err)
		}
	}
	return filepath.Join(dir, "thresholds.json"), nil
}
