package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"assay/harness/judge/certificate/signature"
)

const signingKeyEnv = "ASSAY_SIGNING_KEY"

// signingKeyValue takes the key, or its file's name, out of the environment the
// first time, so that no child of this process inherits it.
var signingKeyValue = sync.OnceValue(func() string {
	value := os.Getenv(signingKeyEnv)
	_ = os.Unsetenv(signingKeyEnv) // fails for malformed names alone
	return value
})

// signingKey is the key to sign with; nil where there is none.
func signingKey() (*signature.PrivateKey, error) {
	value := signingKeyValue()
	if value == "" {
		return nil, nil //nolint:nilnil // no key is a state, not an error
	}
	if !strings.Contains(value, "-----BEGIN") {
		return signingKeyFile(value)
	}
	key, err := signature.ParsePrivate([]byte(value))
	if err != nil {
		return nil, unusableKey(signingKeyEnv+" holds no key to sign with", err)
	}
	return &key, nil
}

// signingKeyFile refuses a key that others may read: one that everybody has signs
// for nobody. Its group is the owner's business. What is no key at all is told
// first: it needs no protection.
func signingKeyFile(path string) (*signature.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		// The value may be a key that lost its PEM frame: it is not told.
		return nil, &usageError{
			signingKeyEnv + " neither names a file that can be read nor holds a PEM",
			"make a key: assay keygen DIR, then export " + signingKeyEnv + "=DIR/assay.key",
		}
	}
	if !info.Mode().IsRegular() {
		return nil, &usageError{signingKeyEnv + " names " + path + ", which is not a file", "name the file: DIR/assay.key"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &usageError{"the signing key cannot be read: " + err.Error(), "make it readable to this user alone: chmod 600 " + path}
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		return nil, unusableKey("the signing key "+path+" is of no use", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, &usageError{fmt.Sprintf("the signing key %s may be read by everybody on this host (mode %04o)", path, info.Mode().Perm()), "chmod 600 " + path}
	}
	return &key, nil
}

// unusableKey says what is wrong with which key.
func unusableKey(what string, err error) error {
	return fmt.Errorf("%s: %w", what, err)
}
