// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// KeyEnv is the environment variable that holds the private key's file name or its PEM.
const KeyEnv = "ASSAY_SIGNING_KEY"

// fromEnvironment is the value of KeyEnv, which the first call removes from the
// environment.
var fromEnvironment = sync.OnceValue(func() string {
	value := os.Getenv(KeyEnv)
	_ = os.Unsetenv(KeyEnv) // fails only for malformed names
	return value
})

// HideFromChildren removes the key from the environment, so that no child process
// inherits it. FromEnvironment still finds it.
func HideFromChildren() { fromEnvironment() }

// Environment is the environment with the key again, for a program that replaces this one.
func Environment() []string {
	if value := fromEnvironment(); value != "" {
		return append(os.Environ(), KeyEnv+"="+value)
	}
	return os.Environ()
}

// FromEnvironment loads the signing key; nil: KeyEnv is not set.
func FromEnvironment() (*PrivateKey, error) { return loadPrivate(fromEnvironment()) }

// loadPrivate loads the key that a value of KeyEnv names or holds; nil if it is empty.
func loadPrivate(value string) (*PrivateKey, error) {
	if value == "" {
		return nil, nil // no key is a state, not an error
	}
	if !strings.Contains(value, "-----BEGIN") {
		return readPrivate(value)
	}
	key, err := ParsePrivate([]byte(value))
	if err != nil {
		return nil, fmt.Errorf("%s holds no signing key: %w", KeyEnv, err)
	}
	return &key, nil
}

// maxKey bounds a key's file, bytes.
const maxKey = 64 << 10

// readPrivate reads a key file, and refuses one that users outside its owner and group
// may access. The mode is checked last: a file without a key needs no protection.
func readPrivate(path string) (*PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		// The value may be a key without its PEM header: do not print it.
		return nil, hint.With(errors.New(KeyEnv+" is neither a readable file nor a PEM-encoded key"),
			"make a key: assay keygen DIR, then export "+KeyEnv+"=DIR/assay.key")
	}
	if !info.Mode().IsRegular() {
		return nil, hint.With(fmt.Errorf("%s: %s is not a regular file", KeyEnv, path), "name the file: DIR/assay.key")
	}
	text, err := foreign.ReadLinked(path, maxKey)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read signing key: %w", err), "make it readable to this user alone: chmod 600 "+path)
	}
	key, err := ParsePrivate(text)
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, hint.With(fmt.Errorf("signing key %s is accessible to other users (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path)
	}
	return &key, nil
}

// ReadPublic reads the issuer's public key, PKIX PEM.
func ReadPublic(path string) (PublicKey, error) {
	text, err := foreign.ReadLinked(path, maxKey)
	if err != nil {
		return PublicKey{}, hint.With(fmt.Errorf("read public key: %w", err), "name the issuer's: --key assay.pub")
	}
	key, err := ParsePublic(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("--key %s: %w", path, err)
	}
	return key, nil
}
