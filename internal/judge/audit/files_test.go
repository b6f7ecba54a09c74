package audit

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// One flipped byte, anywhere in a run folder, fails the check of its file.
func TestOneFlippedByte(t *testing.T) {
	key := newKey(t, signature.ECDSAP256)
	dir := certify(t, "a", &key)
	all := filesBelow(t, dir)
	if len(all) < 8 {
		t.Fatalf("only %v", all)
	}
	for _, path := range all {
		whole := readFile(t, path)
		want := []string{Evidence}
		switch filepath.Base(path) {
		case "manifest.json":
			want = []string{Subject}
		case issue.CertificateFile:
			want = []string{Predicate}
		case issue.BundleFile:
			want = []string{Signature}
		case record.SealFile:
			want = []string{Seal}
		case "certificate.md":
			want = []string{Files}
		}
		rapid.Check(t, func(rt *rapid.T) {
			changed := bytes.Clone(whole)
			changed[rapid.IntRange(0, len(whole)-1).Draw(rt, "at")] ^= rapid.ByteRange(1, 255).Draw(rt, "mask")
			overwrite(t, path, changed)
			r := verify(t, dir, options(&key))
			for _, name := range want {
				if !slices.Contains(r.Broken, name) || r.ExitCode() != 2 || r.Authentic {
					rt.Fatalf("%s: %+v", path, r)
				}
			}
			if want[0] == Evidence && !strings.Contains(detail(r, Evidence), filepath.Base(path)+" has changed") {
				rt.Fatalf("%s is not named: %s", path, detail(r, Evidence))
			}
		})
		overwrite(t, path, whole)
	}
	if r := verify(t, dir, options(&key)); !r.Authentic {
		t.Errorf("put back: %+v", r)
	}
}

// Missing and added files are each named.
func TestMissingAndAdded(t *testing.T) {
	dir := certify(t, "a", nil)
	evidence := filepath.Join(dir, record.EvidenceDir)
	if err := os.Remove(filepath.Join(evidence, "facts.json")); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(evidence, "plan.json"), []byte("{}"))
	overwrite(t, filepath.Join(evidence, "more.txt"), nil)
	r := verify(t, dir, options(nil))
	if want := "facts.json is missing\nplan.json has changed\nmore.txt was added"; detail(r, Evidence) != want || r.state(Verdict) != NotChecked {
		t.Errorf("%+v", r)
	}
	overwrite(t, filepath.Join(evidence, "manifest.json"), []byte("{"))
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Subject}) || r.state(Evidence) != NotChecked {
		t.Errorf("no manifest: %+v", r)
	}
	if err := os.RemoveAll(evidence); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "no evidence in") {
		t.Errorf("no evidence: %+v", r)
	}
}

// A pipe or link instead of a file is refused.
func TestNotAFile(t *testing.T) {
	dir := certify(t, "a", nil)
	pipe := filepath.Join(dir, record.EvidenceDir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "pipe is not a file") {
		t.Errorf("%+v", r)
	}
	plan := filepath.Join(dir, record.EvidenceDir, "plan.json")
	for _, err := range []error{os.Remove(pipe), os.Rename(plan, filepath.Join(dir, "plan.json")), os.Symlink("../plan.json", plan)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "plan.json is not a file") {
		t.Errorf("%+v", r)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, issue.BundleFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, options(nil)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe for a signature: %v", err)
	}
}
