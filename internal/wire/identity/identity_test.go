package identity_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire/identity"
)

const token = "an-example-of-32-characters-0001"

func fromToken(t *testing.T, token string, hosts ...string) identity.Identity {
	t.Helper()
	i, err := identity.FromToken(token, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func random(t *testing.T) identity.Identity {
	t.Helper()
	i, err := identity.Random()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Workers of another version must find the same key.
func TestFromTokenStaysTheSame(t *testing.T) {
	const want = "sha256:da6cf0a8e12ad389a6ac86ec6dc9a6cb8b3451be4ca76d8c449d73e958d50906" // computed with Python and OpenSSL
	if got := fromToken(t, token).Fingerprint(); got != want {
		t.Errorf("the key of the token is now %s, was %s", got, want)
	}
	if fromToken(t, token+"x").Fingerprint() == want {
		t.Error("two tokens have one key")
	}
}

func TestRandomDiffers(t *testing.T) {
	if one, other := random(t), random(t); one.Fingerprint() == other.Fingerprint() {
		t.Error("two runs have one key")
	}
}

// The fingerprint is that of: openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | sha256sum.
func TestFingerprint(t *testing.T) {
	i := random(t)
	spki, err := x509.MarshalPKIXPublicKey(i.Certificate.Leaf.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spki)
	if want := "sha256:" + hex.EncodeToString(sum[:]); i.Fingerprint() != want {
		t.Errorf("fingerprint %s, want %s", i.Fingerprint(), want)
	}
}

func TestCheckToken(t *testing.T) {
	for token, ok := range map[string]bool{
		"":                           false,
		strings.Repeat("a", 19):      false,
		"abcdefghij klmnopqrstuvwx":  false,
		"abcdefghijklmnopqrstuvwx\n": false,
		"abcdefghijklmnopqrstuvwxé":  false,
		strings.Repeat("a", 20):      true,
		"q83vEjRWeJCrze8SNFZ4kA==":   true,
	} {
		err := identity.CheckToken(token)
		if (err == nil) != ok {
			t.Errorf("%q: %v", token, err)
		}
		if err != nil && !strings.Contains(hint.Of(err), "openssl rand -hex 32") {
			t.Errorf("%q: the hint is %q", token, hint.Of(err))
		}
		if _, derived := identity.FromToken(token); (derived == nil) != ok {
			t.Errorf("key of %q: %v", token, derived)
		}
	}
}

// A client that trusts the certificate as a file checks its hosts and dates.
func TestCertificateAsAFile(t *testing.T) {
	leaf := fromToken(t, token, "coordinator.example", "192.0.2.7").Certificate.Leaf
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)
	for _, c := range []struct {
		host  string
		at    time.Time
		valid bool
	}{
		{"coordinator.example", time.Now(), true},
		{"192.0.2.7", time.Now().Add(-24 * time.Hour), true},
		{"192.0.2.7", time.Now().Add(30 * 24 * time.Hour), true},
		{"192.0.2.8", time.Now(), false},
		{"other.example", time.Now(), false},
	} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: c.host, CurrentTime: c.at})
		if (err == nil) != c.valid {
			t.Errorf("%s at %s: %v", c.host, c.at, err)
		}
	}
}

// write writes an identity as PEM files.
func write(t *testing.T, i identity.Identity) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(i.Certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	var chain []byte
	for _, der := range i.Certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for name, content := range map[string][]byte{certFile: chain, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestLoad(t *testing.T) {
	given := random(t)
	cert, key := write(t, given)
	_, otherKey := write(t, random(t))
	oldCert, oldKey := write(t, identity.Identity{Certificate: authority.issue(t, "a.example", time.Now().Add(-time.Hour))})
	loaded, err := identity.Load(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Fingerprint() != given.Fingerprint() {
		t.Error("loaded another key")
	}
	for name, c := range map[string]struct{ cert, key, says string }{
		"no such file": {cert + ".no", key, "no such file"},
		"another key":  {cert, otherKey, "does not match"},
		"swapped":      {key, cert, key},
		"expired":      {oldCert, oldKey, "expired"},
	} {
		_, err := identity.Load(c.cert, c.key)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, hint.Of(err))
		}
	}
}

func TestServerSpeaksTLS13Only(t *testing.T) {
	i := random(t)
	for version, ok := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		err := connect(t, i.TLS(), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}
