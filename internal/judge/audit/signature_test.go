package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// An unsigned certificate is not authentic; with a key it fails.
func TestUnsigned(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	signed, plain := certify(t, "signed", &key), certify(t, "plain", nil)
	for _, c := range []struct {
		dir    string
		key    *signature.PrivateKey
		word   string
		broken []string
	}{
		{signed, nil, "UNVERIFIED", nil},
		{plain, nil, "UNSIGNED", nil},
		{plain, &key, "BROKEN", []string{Signature}},
	} {
		r := verify(t, c.dir, options(c.key))
		if word, _ := r.Summary(); word != c.word || r.Authentic || !slices.Equal(r.Broken, c.broken) {
			t.Errorf("%s with key %v: %s, %+v", c.dir, c.key, word, r)
		}
	}
	if err := os.Remove(filepath.Join(signed, issue.BundleFile)); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, signed, options(nil)); !slices.Equal(r.Broken, []string{Signature}) {
		t.Errorf("a signature was taken away: %+v", r)
	}
}

func TestOtherKeys(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	for _, kind := range signature.Kinds {
		other := newKey(t, kind)
		if r := verify(t, dir, options(&other)); !slices.Equal(r.Broken, []string{Signature}) || !strings.Contains(detail(r, Signature), "another key") {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// A signature by another key than the issuer's fails, with either key.
func TestAnotherIssuer(t *testing.T) {
	key, other := newKey(t, signature.Ed25519), newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	data := readFile(t, filepath.Join(dir, issue.CertificateFile))
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := signature.Sign(other, data, strings.TrimPrefix(r.Manifest, "sha256:"))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(dir, issue.BundleFile), bundle)
	for _, o := range []Options{options(&other), options(nil)} {
		if r := verify(t, dir, o); !slices.Equal(r.Broken, []string{Signature}) || !strings.Contains(detail(r, Signature), "the certificate's issuer is not the key") {
			t.Errorf("broken: %v; %s", r.Broken, detail(r, Signature))
		}
	}
}

// The certificate of another run fails, first alone, then with its signature.
func TestSwapped(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	a, b := certify(t, "a", &key), certify(t, "b", &key)
	for _, c := range []struct {
		swapped string
		broken  []string
	}{
		{issue.CertificateFile, []string{Predicate}},
		{issue.BundleFile, []string{Subject}},
	} {
		overwrite(t, filepath.Join(a, c.swapped), readFile(t, filepath.Join(b, c.swapped)))
		r := verify(t, a, options(&key))
		if !slices.Equal(r.Broken, c.broken) {
			t.Errorf("with the other %s: %+v", c.swapped, r)
		}
	}
}

// What the signature, the certificate or the manifest does not cover is not read, and the
// report names it.
func TestNothingIsReadAfterAFailure(t *testing.T) {
	key, other := newKey(t, signature.Ed25519), newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	evidence := filepath.Join(dir, record.EvidenceDir)
	all := []string{Signature, Predicate, Schema, Subject, RunCheck, Evidence, Verdict, Expiry, Fingerprint, Database}
	check := func(o Options, last string) {
		t.Helper()
		r := verify(t, dir, o)
		if !slices.Equal(r.Broken, []string{last}) {
			t.Fatalf("want %s: %+v", last, r)
		}
		for _, name := range all[slices.Index(all, last)+1:] {
			if r.state(name) != NotChecked || detail(r, name) != "as "+last+" failed" {
				t.Errorf("after %s: %s is %s: %s", last, name, r.state(name), detail(r, name))
			}
		}
	}
	// Whoever reads the evidence finds this first.
	overwrite(t, filepath.Join(evidence, "plan.json"), []byte("{"))
	check(options(&other), Signature)
	check(options(&key), Evidence)
	overwrite(t, filepath.Join(evidence, "manifest.json"), []byte("{"))
	check(options(&key), Subject)
	overwrite(t, filepath.Join(dir, issue.CertificateFile), []byte("{"))
	check(options(&key), Predicate)
	overwrite(t, filepath.Join(dir, issue.BundleFile), []byte("{"))
	check(options(&key), Signature)
}
