package issue

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/testing/synthetic"
)

func newKey(t *testing.T, kind signature.Kind) *signature.PrivateKey {
	t.Helper()
	text, _, err := signature.Generate(kind)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

func judged(claim string) certificate.Certificate {
	r := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy).Record()
	r.Manifest = "sha256:" + strings.Repeat("ab", 32)
	c := build.Of(r)
	c.Claim = claim
	return c
}

func write(t *testing.T, dir string, c certificate.Certificate, key *signature.PrivateKey) {
	t.Helper()
	i, err := newIssue(dir, c, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Write(); err != nil {
		t.Fatal(err)
	}
}

// newIssue prepares a certificate with a page that has its claim.
func newIssue(dir string, c certificate.Certificate, key *signature.PrivateKey) (Issue, error) {
	f, err := Open(dir, "", key)
	if err != nil {
		return Issue{}, err
	}
	c = f.Signed(c)
	return f.Issue(c, []File{{"certificate.md", []byte(c.Claim)}})
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

// Without a key a certificate is not signed, and states that.
func TestUnsigned(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, judged("a"), nil)
	if !bytes.Contains(read(t, dir, CertificateFile), []byte(`"signed": false`)) || read(t, dir, BundleFile) != nil {
		t.Error("it is signed without a key")
	}
}

// Judging again, with or without the key, changes neither a signed certificate nor its
// signature, although ECDSA signatures differ each time.
func TestJudgedAgain(t *testing.T) {
	for _, kind := range signature.Kinds {
		dir, key := t.TempDir(), newKey(t, kind)
		write(t, dir, judged("a"), key)
		c, b := read(t, dir, CertificateFile), read(t, dir, BundleFile)
		if !bytes.Contains(c, []byte(`"signed": true`)) || b == nil {
			t.Fatal("it is not signed")
		}
		for _, again := range []*signature.PrivateKey{nil, key, nil} {
			if err := os.Remove(filepath.Join(dir, CertificateFile)); err != nil {
				t.Fatal(err)
			}
			write(t, dir, judged("a"), again)
			if !bytes.Equal(read(t, dir, CertificateFile), c) || !bytes.Equal(read(t, dir, BundleFile), b) {
				t.Errorf("%s: judged again it is another", kind)
			}
		}
	}
}

// A certificate that the signature does not cover is refused without the key, and
// nothing changes; with a key it is signed.
func TestAnotherCertificate(t *testing.T) {
	for name, spoil := range map[string]func(b []byte) []byte{
		"another claim": func(b []byte) []byte { return b },
		"a torn bundle": func(b []byte) []byte { return b[:len(b)/2] },
		"no bundle":     func([]byte) []byte { return []byte{} },
	} {
		dir, key := t.TempDir(), newKey(t, signature.Ed25519)
		write(t, dir, judged("a"), key)
		if err := os.WriteFile(filepath.Join(dir, BundleFile), spoil(read(t, dir, BundleFile)), 0o644); err != nil {
			t.Fatal(err)
		}
		c, b := read(t, dir, CertificateFile), read(t, dir, BundleFile)
		_, err := newIssue(dir, judged("b"), nil)
		if err == nil || !strings.Contains(err.Error(), "signs a different certificate") || !strings.Contains(hint.Of(err), "ASSAY_SIGNING_KEY") {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(read(t, dir, CertificateFile), c) || !bytes.Equal(read(t, dir, BundleFile), b) {
			t.Errorf("%s: something has changed", name)
		}
		for _, signer := range []*signature.PrivateKey{key, newKey(t, signature.ECDSAP256)} {
			write(t, dir, judged("b"), signer)
			b, err := signature.Open(read(t, dir, BundleFile))
			if err != nil || b.Verify(signer.Public()) != nil || !bytes.Equal(b.Statement.Predicate, signature.Predicate(read(t, dir, CertificateFile))) {
				t.Errorf("%s: not signed anew: %v", name, err)
			}
		}
	}
}

// Evidence that was changed after it was signed is not signed again.
func TestOtherEvidenceIsNotSignedAgain(t *testing.T) {
	dir, key := t.TempDir(), newKey(t, signature.Ed25519)
	c := judged("as it was")
	write(t, dir, c, key)
	before := read(t, dir, BundleFile)
	c.Evidence.ManifestSHA256 = strings.Repeat("cd", 32)
	for _, k := range []*signature.PrivateKey{key, nil, newKey(t, signature.ECDSAP256)} {
		if _, err := newIssue(dir, c, k); err == nil || !strings.Contains(err.Error(), "signs other evidence") {
			t.Errorf("%v", err)
		}
	}
	if !bytes.Equal(before, read(t, dir, BundleFile)) {
		t.Error("the signature has changed")
	}
	if err := os.Remove(filepath.Join(dir, BundleFile)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, c, key)
}

// No certificate is issued that nobody could read.
func TestCertificatesThatAreTooLarge(t *testing.T) {
	_, err := newIssue(t.TempDir(), judged(strings.Repeat("x", record.MaxDocument)), nil)
	if err == nil || !strings.Contains(err.Error(), "certificate.json would have") || hint.Of(err) == "" {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}
