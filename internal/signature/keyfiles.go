// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/hint"
)

// Files of a key pair.
const (
	privateKeyFile = "assay.key"
	publicKeyFile  = "assay.pub"
)

// WritePair makes a key pair and writes it into a folder, the private key with mode
// 0600. It writes both files or neither, and overwrites nothing.
func WritePair(dir string, kind Kind) (privatePath, publicPath string, err error) {
	private, public, err := Generate(kind)
	if err != nil {
		return "", "", fmt.Errorf("--type: %w", err)
	}
	privatePath, publicPath = filepath.Join(dir, privateKeyFile), filepath.Join(dir, publicKeyFile)
	for _, path := range []string{privatePath, publicPath} {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return "", "", hint.With(fmt.Errorf("%s already exists", path), "name another folder, or move the keys away")
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", hint.With(fmt.Errorf("write keys: %w", err), "name another folder")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", hint.With(fmt.Errorf("write keys: %w", err), "name another folder")
	}
	if err := writeNew(privatePath, private, 0o600); err != nil {
		return "", "", err
	}
	if err := writeNew(publicPath, public, 0o644); err != nil {
		return "", "", errors.Join(err, os.Remove(privatePath))
	}
	return privatePath, publicPath, nil
}

// writeNew writes a file that must not exist yet. It removes a partly written file.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, err = f.Write(data)
	// The umask may have cleared bits of the mode.
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write key: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}
