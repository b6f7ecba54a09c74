package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/testing/synthetic"
)

// A page of another run, changed, or led elsewhere, is not what was signed, with the key and
// without it; one that is gone deceives nobody.
func TestPages(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	a, b := certify(t, "a", &key), certify(t, "b", &key)
	path := filepath.Join(a, "certificate.md")
	whole := readFile(t, path)
	replace := func(made error) error { return errors.Join(os.Remove(path), made) }
	for name, spoil := range map[string]func() error{
		"swapped": func() error {
			return os.WriteFile(path, append(readFile(t, filepath.Join(b, "certificate.md")), '!'), 0o644)
		},
		"changed": func() error { return os.WriteFile(path, []byte("all is well"), 0o644) },
		"empty":   func() error { return os.Truncate(path, 0) },
		"link":    func() error { return replace(nil) },
		"pipe":    func() error { return errors.Join(replace(nil), syscall.Mkfifo(path, 0o600)) },
		"folder":  func() error { return errors.Join(replace(nil), os.Mkdir(path, 0o755)) },
		"gone":    func() error { return replace(nil) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if name == "link" {
			if err := os.Symlink(filepath.Join(b, "certificate.md"), path); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{Files}
		if name == "gone" {
			want = []string{}
		}
		k := &key
		if name == "changed" {
			k = nil // the digest is in the statement, whoever has signed it
		}
		if r := verify(t, a, options(k)); !slices.Equal(r.Broken, want) || len(want) > 0 && !strings.Contains(detail(r, Files), "certificate.md") {
			t.Errorf("%s: %v, %s", name, r.Broken, detail(r, Files))
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, whole)
	}
	if r := verify(t, a, options(&key)); !r.Authentic {
		t.Errorf("put back: %v", r.Broken)
	}
}

// The statement covers what the issuer has named; all else in the folder is named.
func TestNotCovered(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	search := issue.File{Name: "headroom/search.json", Data: []byte(`{"sentence": "more"}`)}
	for _, folder := range []string{"headroom/trial", "rejudged", "logs/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	overwrite(t, filepath.Join(dir, search.Name), search.Data)
	overwrite(t, filepath.Join(dir, "notes.txt"), nil)
	overwrite(t, filepath.Join(dir, "a\nAUTHENTIC"), nil)
	overwrite(t, filepath.Join(dir, "logs/deep/x"), nil)
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "", build.Of(r), &key, search)
	got := verify(t, dir, options(&key))
	if want := []string{"a\nAUTHENTIC", "etc", "headroom/trial/", "logs/", "notes.txt", "rejudged/"}; !got.Authentic || !slices.Equal(got.NotCovered, want) {
		t.Errorf("%q, want %q: %v", got.NotCovered, want, got.Broken)
	}
	if text := string(page.Terminal(got.Page(), page.Columns, false)); !strings.Contains(text, "Not covered by the signature") || !strings.Contains(text, "notes.txt") || strings.Contains(text, "\nAUTHENTIC") {
		t.Error(text)
	}
	overwrite(t, filepath.Join(dir, search.Name), []byte(`{"sentence": "ten times more"}`))
	if got := verify(t, dir, options(&key)); !slices.Equal(got.Broken, []string{Files}) || detail(got, Files) != "headroom/search.json is not what was signed" {
		t.Errorf("%v: %s", got.Broken, detail(got, Files))
	}
	// Another certificate than the one that is verified is not covered.
	renamed := filepath.Join(dir, "good.json")
	overwrite(t, renamed, readFile(t, filepath.Join(dir, issue.CertificateFile)))
	if got := verify(t, renamed, options(&key)); !slices.Contains(got.NotCovered, issue.CertificateFile) || slices.Contains(got.NotCovered, "good.json") {
		t.Errorf("%q", got.NotCovered)
	}
	for i := range maxListed + 5 {
		overwrite(t, filepath.Join(dir, "logs", fmt.Sprint(i)), nil)
		overwrite(t, filepath.Join(dir, fmt.Sprint(i)), nil)
	}
	if got := verify(t, dir, options(&key)); len(got.NotCovered) > maxListed+1 || !slices.Contains(got.NotCovered, "...") {
		t.Errorf("%d files are listed", len(got.NotCovered))
	}
	// Nothing covers the pages of an unsigned certificate.
	if got := verify(t, certify(t, "b", nil), options(nil)); got.state(Files) != NotChecked || len(got.Broken) > 0 {
		t.Errorf("%s", detail(got, Files))
	}
}

// Evidence that a key has not sealed when its run ended is signed, but marked, and refused:
// put together by hand, sealed by another key, or as another run, or stripped of its seal.
func TestNotSealed(t *testing.T) {
	key, other := newKey(t, signature.Ed25519), newKey(t, signature.ECDSAP256)
	foreign := certify(t, "other", &key)
	for name, seal := range map[string]func(dir string) error{
		"by hand":     func(string) error { return nil },
		"another key": func(dir string) error { return record.WriteSeal(dir, signature.NewSealer(&other)) },
		"of another run": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, record.SealFile), readFile(t, filepath.Join(foreign, record.SealFile)), 0o644)
		},
		"a certificate's signature": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, record.SealFile), readFile(t, filepath.Join(foreign, issue.BundleFile)), 0o644)
		},
		"a link to a seal": func(dir string) error {
			sealed := filepath.Join(t.TempDir(), "seal")
			return errors.Join(record.WriteSeal(dir, signature.NewSealer(&key)), os.Rename(filepath.Join(dir, record.SealFile), sealed), os.Symlink(sealed, filepath.Join(dir, record.SealFile)))
		},
	} {
		c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
		c.Run.Plan.Run, c.Run.Plan.Target = "a", "https://pay.bank.example"
		dir := filepath.Join(t.TempDir(), "a")
		if err := c.Seal(dir); err != nil {
			t.Fatal(err)
		}
		r, err := record.Open(dir)
		if err == nil {
			err = seal(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "", build.Of(r), &key)
		got := verify(t, dir, options(&key))
		if word, _ := got.Summary(); word != "REFUSED" || got.Authentic || got.Sealed || !slices.Equal(got.Broken, []string{Seal}) || got.ExitCode() != 2 || !slices.Contains(got.Limitations, certificate.NotSealed) {
			t.Errorf("%s: %s, %v, %q", name, word, got.Broken, got.Limitations)
		}
		if name != "by hand" {
			continue
		}
		if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Seal}) {
			t.Errorf("%s, without the key: %v", name, r.Broken)
		}
		o := options(&key)
		o.AllowUnsealed = true
		if r := verify(t, dir, o); !r.Authentic || r.Sealed || r.state(Seal) != Allowed {
			t.Errorf("%s, allowed: %v", name, r.Broken)
		}
	}
}

// A certificate that states a seal needs it, of this key.
func TestSealTakenAway(t *testing.T) {
	key, other := newKey(t, signature.Ed25519), newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	path := filepath.Join(dir, record.SealFile)
	whole := readFile(t, path)
	for name, c := range map[string]struct {
		spoil func() error
		want  string
	}{
		"removed":     {func() error { return os.Remove(path) }, "there is no evidence.sigstore.json"},
		"torn":        {func() error { return os.Truncate(path, 100) }, "not a sigstore bundle"},
		"another key": {func() error { return record.WriteSeal(dir, signature.NewSealer(&other)) }, "another key"},
		"another run": {func() error {
			return os.WriteFile(path, readFile(t, filepath.Join(certify(t, "b", &key), record.SealFile)), 0o644)
		}, "seals another record"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		o := options(&key)
		o.AllowUnsealed = true // which it does not say that it is
		r := verify(t, dir, o)
		if word, _ := r.Summary(); word != "BROKEN" || !slices.Equal(r.Broken, []string{Seal}) || !strings.Contains(detail(r, Seal), c.want) {
			t.Errorf("%s: %s, %v, %s", name, word, r.Broken, detail(r, Seal))
		}
		overwrite(t, path, whole)
	}
	// Judged again, with the key or without it, it is the same.
	before := readFile(t, filepath.Join(dir, issue.BundleFile))
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*signature.PrivateKey{&key, nil} {
		write(t, dir, "", build.Of(r), k)
		if got := verify(t, dir, options(&key)); !got.Authentic || !got.Sealed || !slices.Equal(before, readFile(t, filepath.Join(dir, issue.BundleFile))) {
			t.Errorf("judged again: %v", got.Broken)
		}
	}
	// Another key signs it, and does not vouch for the record.
	write(t, dir, "", build.Of(r), &other)
	if got := verify(t, dir, options(&other)); !slices.Equal(got.Broken, []string{Seal}) {
		t.Errorf("by another key: %v", got.Broken)
	}
}
