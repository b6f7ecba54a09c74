package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/audit"
	"assay.dev/assay/internal/signature"
)

// A certificate of each release, of a real run, is verified by this build: it is valid for 90
// days, in which the gates that read it are updated. Each release adds its own.
func TestCertificatesOfReleases(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/releases/*.pub")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d releases: %v", len(folders), err)
	}
	for _, public := range folders {
		key, err := signature.ReadPublic(public)
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSuffix(public, ".pub")
		r, err := audit.Verify(dir, audit.Options{Key: &key, Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Authentic || r.ExitCode() != 0 {
			t.Errorf("%s: %+v", dir, r)
		}
		// The same at a higher rate is refused.
		changed := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(changed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(changed, "certificate.json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"target": 20`, `"target": 200`, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := audit.Verify(changed, audit.Options{Key: &key, Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}); err != nil || r.Authentic {
			t.Errorf("%s with a higher rate: %v, %+v", dir, err, r)
		}
	}
}
