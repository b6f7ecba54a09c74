//go:build long

package signature

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cosign is the path of the cosign program, which `make cosign` builds.
func cosign(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ASSAY_TEST_COSIGN")
	if path == "" {
		t.Fatal("ASSAY_TEST_COSIGN does not name a cosign 3 program: run make cosign, or .ci/cosign FOLDER")
	}
	return path
}

// cosign accepts a bundle, offline, with the command of docs/trust.md, and refuses it once
// a byte of manifest, statement or signature has changed, and for another key or another
// type of statement.
func TestCosign(t *testing.T) {
	program := cosign(t)
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			private, public, err := Generate(kind)
			if err != nil {
				t.Fatal(err)
			}
			_, otherPublic, err := Generate(kind)
			if err != nil {
				t.Fatal(err)
			}
			key, err := ParsePrivate(private)
			if err != nil {
				t.Fatal(err)
			}
			manifest := `{"files": []}`
			page := "<p>PASS</p>"
			bundle, err := Sign(key, []byte(certificate), digestOf(manifest), FileOf("certificate.html", []byte(page)))
			if err != nil {
				t.Fatal(err)
			}
			seal, err := NewSealer(&key).Seal("a", []byte(manifest))
			if err != nil {
				t.Fatal(err)
			}
			verify := func(public []byte, bundle []byte, predicate, manifest string) (string, error) {
				dir := t.TempDir()
				for name, data := range map[string][]byte{"k.pub": public, "certificate.sigstore.json": bundle, SubjectName: []byte(manifest)} {
					path := filepath.Join(dir, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command(program, "verify-blob-attestation", "--key", "k.pub", "--bundle", "certificate.sigstore.json",
					"--insecure-ignore-tlog", "--type", predicate, SubjectName)
				// No network and no home: with a key there is nothing to look up.
				cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1"}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := verify(public, bundle, PredicateType, manifest); err != nil || !strings.Contains(out, "Verified OK") {
				t.Fatalf("cosign refuses it: %v\n%s", err, out)
			}
			if out, err := verify(public, bundle, PredicateType, page); err != nil || !strings.Contains(out, "Verified OK") {
				t.Errorf("cosign refuses a page: %v\n%s", err, out)
			}
			if out, err := verify(public, seal, SealType, manifest); err != nil || !strings.Contains(out, "Verified OK") {
				t.Errorf("cosign refuses a seal: %v\n%s", err, out)
			}
			for name, refused := range map[string]func() (string, error){
				"manifest":  func() (string, error) { return verify(public, bundle, PredicateType, `{"files": [ }`) },
				"payload":   func() (string, error) { return verify(public, flip(t, bundle, "payload"), PredicateType, manifest) },
				"signature": func() (string, error) { return verify(public, flip(t, bundle, "sig"), PredicateType, manifest) },
				"page":      func() (string, error) { return verify(public, bundle, PredicateType, page+" ") },
				"key":       func() (string, error) { return verify(otherPublic, bundle, PredicateType, manifest) },
				"type":      func() (string, error) { return verify(public, bundle, "https://slsa.dev/provenance/v1", manifest) },
			} {
				if out, err := refused(); err == nil || strings.Contains(out, "Verified OK") {
					t.Errorf("cosign accepts another %s:\n%s", name, out)
				}
			}
		})
	}
}

// flip changes one byte of the base64 value of a field.
func flip(t *testing.T, bundle []byte, field string) []byte {
	t.Helper()
	at := bytes.Index(bundle, []byte(`"`+field+`": "`))
	if at < 0 {
		t.Fatalf("no %s in the bundle", field)
	}
	at += len(field) + 5 + 20
	changed := bytes.Clone(bundle)
	changed[at] = 'A' + (changed[at]-'A'+1)%26
	if !json.Valid(changed) || bytes.Equal(changed, bundle) {
		t.Fatalf("%s is not changed: %s", field, changed)
	}
	return changed
}
