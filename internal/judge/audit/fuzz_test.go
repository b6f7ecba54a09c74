package audit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

// FuzzCertificate: whatever a certificate says, it is read, or refused, and is never
// authentic.
func FuzzCertificate(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "r")
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	if err := c.Seal(dir); err != nil {
		f.Fatal(err)
	}
	// Without frames it is judged at once.
	if err := os.Remove(filepath.Join(dir, record.EvidenceDir, "frames.otlp.pb.zst")); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "{}", "[]", `{"schema": "assay/certificate/v1", "rejudged": {"thresholds": {"path": "x"}}}`} {
		f.Add([]byte(text))
	}
	golden, err := filepath.Glob("../certificate/testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range golden {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		overwrite(t, filepath.Join(dir, issue.CertificateFile), data)
		r, err := Verify(dir, options(nil))
		if errors.Is(err, foreign.ErrUnreadable) || r.Authentic || err == nil && r.ExitCode() != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		_ = r.Page()
	})
}
