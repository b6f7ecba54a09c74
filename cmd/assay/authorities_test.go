//go:build live

package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// TestAuthorities checks that the program has certificate authorities where the system
// has none, as in an image that holds only this program: k6 links them in.
func TestAuthorities(t *testing.T) {
	const childEnv = "ASSAY_TEST_AUTHORITIES"
	if os.Getenv(childEnv) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAuthorities$", "-test.v")
		c.Env = append(os.Environ(), childEnv+"=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	if pool.Equal(x509.NewCertPool()) {
		t.Error("there is no certificate authority")
	}
}
