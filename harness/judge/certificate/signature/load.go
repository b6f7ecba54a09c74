package signature

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"assay/harness/hint"
)

// KeyEnv is the environment variable that names the private key's file, or holds
// its PEM.
const KeyEnv = "ASSAY_SIGNING_KEY"

// fromEnvironment takes the value out of the environment the first time.
var fromEnvironment = sync.OnceValue(func() string {
	value := os.Getenv(KeyEnv)
	_ = os.Unsetenv(KeyEnv) // fails for malformed names alone
	return value
})

// HideFromChildren takes the key out of the environment, so that no child of this
// process inherits it. FromEnvironment still knows it.
func HideFromChildren() { fromEnvironment() }

// FromEnvironment is the private key to sign with; nil where there is none.
func FromEnvironment() (*PrivateKey, error) { return loadPrivate(fromEnvironment()) }

// loadPrivate is the private key that the value of KeyEnv names or holds; nil
// where it is empty.
func loadPrivate(value string) (*PrivateKey, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // no key is a state, not an error
	}
	if !strings.Contains(value, "-----BEGIN") {
		return readPrivate(value)
	}
	key, err := ParsePrivate([]byte(value))
	if err != nil {
		return nil, fmt.Errorf("%s holds no key to sign with: %w", KeyEnv, err)
	}
	return &key, nil
}

// readPrivate refuses a key that everybody may read. Its group is the owner's
// business. What is no key at all is told first: it needs no protection.
func readPrivate(path string) (*PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		// The value may be a key that lost its PEM frame: it is not told.
		return nil, hint.With(errors.New(KeyEnv+" neither names a file that can be read nor holds a PEM"),
			"make a key: assay keygen DIR, then export "+KeyEnv+"=DIR/assay.key")
	}
	if !info.Mode().IsRegular() {
		return nil, hint.With(fmt.Errorf("%s names %s, which is not a file", KeyEnv, path), "name the file: DIR/assay.key")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, hint.With(fmt.Errorf("the signing key cannot be read: %w", err), "make it readable to this user alone: chmod 600 "+path)
	}
	key, err := ParsePrivate(text)
	if err != nil {
		return nil, fmt.Errorf("the signing key %s is of no use: %w", path, err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, hint.With(fmt.Errorf("the signing key %s may be read by everybody on this host (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path)
	}
	return &key, nil
}

// ReadPublic reads the issuer's public key, PKIX PEM.
func ReadPublic(path string) (PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return PublicKey{}, hint.With(fmt.Errorf("the public key cannot be read: %w", err), "name the issuer's: --key assay.pub")
	}
	key, err := ParsePublic(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("--key %s: %w", path, err)
	}
	return key, nil
}
