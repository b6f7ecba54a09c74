package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// TestAuthorities: on a system without certificate authorities, such as an image
// of nothing but this program, it has its own: k6 links them in.
func TestAuthorities(t *testing.T) {
	const inside = "ASSAY_TEST_AUTHORITIES"
	if os.Getenv(inside) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAuthorities$", "-test.v")
		c.Env = append(os.Environ(), inside+"=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
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
		t.Error("no authority is known")
	}
}
