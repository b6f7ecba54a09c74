//go:build live

package trial

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/judge/issue"
	"assay/harness/spec"
)

// After a PASS the next step is the certificate, then its signature, then the search.
func TestAfterPass(t *testing.T) {
	file := spec.File{Profiles: map[string]spec.Profile{"payment": {}, "payment-certificate": {}, "event": {}, "own-certificate": {}}}
	signed := t.TempDir()
	if err := os.WriteFile(filepath.Join(signed, issue.BundleFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ profile, dir, want string }{
		{"payment", t.TempDir(), "certify at 95 % confidence, with a longer hold: assay certify payment-certificate"},
		{"payment", signed, "certify at 95 % confidence, with a longer hold: assay certify payment-certificate"},
		{"payment-certificate", t.TempDir(), "sign certificates: assay keygen keys; export ASSAY_SIGNING_KEY=keys/assay.key"},
		{"payment-certificate", signed, "find the highest rate within the SLOs: assay search payment"},
		{"own-certificate", signed, "find the highest rate within the SLOs: assay search own-certificate"},
		{"event", t.TempDir(), "find the highest rate within the SLOs: assay search event"},
	} {
		if got := afterPass(file, tt.profile, tt.dir); got != tt.want {
			t.Errorf("%s: %s", tt.profile, got)
		}
	}
}
