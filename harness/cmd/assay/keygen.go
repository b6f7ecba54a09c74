package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/harness/judge/certificate/signature"
)

// Files of a pair of keys.
const (
	privateKeyFile = "assay.key"
	publicKeyFile  = "assay.pub"
)

func newKeygen() *cobra.Command {
	kind := string(signature.Kinds[0])
	c := &cobra.Command{
		Use:   "keygen DIR",
		Short: "A pair of keys, to sign certificates and to verify them",
		Long: `Keygen writes DIR/assay.key (PKCS#8 PEM, for its owner's eyes alone), which
signs certificates, and DIR/assay.pub (PKIX PEM), which verifies them: give it
to whoever relies on your certificates, by another way than the certificates
take. Nothing that is there is overwritten.`,
		Example: `  assay keygen keys
  export ASSAY_SIGNING_KEY=keys/assay.key
  assay certify payment
  assay verify runs/latest --key keys/assay.pub`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"keygen takes one folder", "like: assay keygen keys"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			private, public, err := signature.Generate(signature.Kind(kind))
			if err != nil {
				return unusableKey("--type", err)
			}
			if err := writeKeys(args[0], private, public); err != nil {
				return err
			}
			key, open := filepath.Join(args[0], privateKeyFile), filepath.Join(args[0], publicKeyFile)
			fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", key, open)
			fmt.Fprintf(c.ErrOrStderr(), "next: export %s=%s\n", signingKeyEnv, key)
			return nil
		},
	}
	c.Flags().StringVar(&kind, "type", kind, "ed25519 or ecdsa-p256")
	return c
}

// writeKeys writes both files or neither.
func writeKeys(dir string, private, public []byte) error {
	key, open := filepath.Join(dir, privateKeyFile), filepath.Join(dir, publicKeyFile)
	for _, path := range []string{key, open} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return &usageError{"keys cannot be written: " + err.Error(), "name another folder"}
			}
			return &usageError{path + " is there already: it is not overwritten", "name another folder, or move the keys away"}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &usageError{"keys cannot be written: " + err.Error(), "name another folder"}
	}
	if err := writeNew(key, private, 0o600); err != nil {
		return err
	}
	if err := writeNew(open, public, 0o644); err != nil {
		return errors.Join(err, os.Remove(key))
	}
	return nil
}

// writeNew writes a file that is not there yet; of one that it could not finish
// nothing is left.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, err = f.Write(data)
	// The umask may have taken bits; it must not have left any.
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write key: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}
