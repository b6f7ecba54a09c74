package issue

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/signature"
)

// Nothing outside a run folder is written, whatever its maker has let the names in it lead
// to: a file of that name is replaced, a folder is refused.
func TestNoLinkIsFollowed(t *testing.T) {
	elsewhere := t.TempDir()
	names := []string{CertificateFile, BundleFile, ThresholdsFile, "certificate.md"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, plant := range map[string]func(run string) error{
		"a folder elsewhere": func(run string) error { return os.Symlink(elsewhere, filepath.Join(run, RejudgedDir)) },
		"a folder in it": func(run string) error {
			return errors.Join(os.Mkdir(filepath.Join(run, "evidence"), 0o755), os.Symlink("evidence", filepath.Join(run, RejudgedDir)))
		},
		"a folder to be made": func(run string) error {
			return os.Symlink(filepath.Join(elsewhere, "new"), filepath.Join(run, RejudgedDir))
		},
		"a file": func(run string) error { return os.WriteFile(filepath.Join(run, RejudgedDir), []byte("mine"), 0o600) },
	} {
		run := t.TempDir()
		if err := plant(run); err != nil {
			t.Fatal(err)
		}
		err := tryIn(run, RejudgedDir)
		if err == nil || !strings.Contains(err.Error(), "is not a folder") || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, sub := range []string{"", RejudgedDir} {
		run := t.TempDir()
		to := filepath.Join(run, sub)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{CertificateFile, ThresholdsFile} {
			if err := os.Symlink(filepath.Join(elsewhere, name), filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(elsewhere, "certificate.md"), filepath.Join(to, "certificate.md")); err != nil {
			t.Fatal(err)
		}
		if err := tryIn(run, sub); err != nil {
			t.Error(err)
		}
		for _, name := range []string{CertificateFile, ThresholdsFile, "certificate.md"} {
			if info, err := os.Lstat(filepath.Join(to, name)); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 || bytes.Equal(read(t, to, name), []byte("mine")) {
				t.Errorf("%s in %q was not replaced: %v, %v", name, sub, info, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(to, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	// A link for a signature is refused, as it would be read.
	run := t.TempDir()
	if err := os.Symlink(filepath.Join(elsewhere, BundleFile), filepath.Join(run, BundleFile)); err != nil {
		t.Fatal(err)
	}
	if err := tryIn(run, ""); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link for a signature: %v", err)
	}
	all, err := os.ReadDir(elsewhere)
	if err != nil || len(all) != len(names) {
		t.Errorf("%v, %v", all, err)
	}
	for _, name := range names {
		if got := read(t, elsewhere, name); string(got) != "mine" {
			t.Errorf("%s elsewhere was written: %s", name, got)
		}
	}
}

// tryIn issues an unsigned certificate in sub below a run folder.
func tryIn(run, sub string) error {
	f, err := Open(run, sub, nil)
	if err != nil {
		return err
	}
	i, err := f.Issue(judged("a"), []File{{ThresholdsFile, []byte("{}")}, {"certificate.md", []byte("a")}})
	if err != nil {
		return err
	}
	return i.Write()
}

// The run folder may be named by a link, as runs/latest is.
func TestLinkToARun(t *testing.T) {
	run, link := t.TempDir(), filepath.Join(t.TempDir(), "latest")
	if err := os.Symlink(run, link); err != nil {
		t.Fatal(err)
	}
	if err := tryIn(link, RejudgedDir); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(run, RejudgedDir), CertificateFile) == nil {
		t.Error("nothing was written")
	}
}

// A page that is not the signed one any more, by whatever it was rendered, does not keep the
// signature: without the key it is refused by its name, and nothing changes.
func TestAnotherPage(t *testing.T) {
	dir, key := t.TempDir(), newKey(t, signature.Ed25519)
	write(t, dir, judged("a"), key)
	before := read(t, dir, BundleFile)
	again := func(key *signature.PrivateKey) error {
		f, err := Open(dir, "", key)
		if err != nil {
			return err
		}
		i, err := f.Issue(f.Signed(judged("a")), []File{{"certificate.md", []byte("of a later version")}})
		if err != nil {
			return err
		}
		return i.Write()
	}
	if err := again(nil); err == nil || !strings.Contains(err.Error(), "signs a different certificate.md, and there is no key") {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(read(t, dir, BundleFile), before) || string(read(t, dir, "certificate.md")) != "a" {
		t.Error("something has changed")
	}
	if err := again(key); err != nil {
		t.Error(err)
	}
	if b, err := signature.Open(read(t, dir, BundleFile)); err != nil || b.Verify(key.Public()) != nil || !b.Statement.Covers("certificate.md", []byte("of a later version")) {
		t.Errorf("it is not signed: %v", err)
	}
}
