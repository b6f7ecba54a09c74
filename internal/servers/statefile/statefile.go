package statefile

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"

	"assay.dev/assay/internal/foreign"
)

// maxBytes bounds a file.
const maxBytes = 16 << 20

// Read decodes the file. The error wraps os.ErrNotExist if there is none.
func Read(path string, into any) error {
	b, err := foreign.ReadFile(path, maxBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Write replaces the file atomically, with mode 0600.
func Write(path string, from any) error {
	b, err := json.MarshalIndent(from, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = f.Cleanup() }() // does nothing after the replacement
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
