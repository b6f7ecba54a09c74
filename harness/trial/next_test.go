package trial

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/judge/issue"
	"assay/harness/spec"
)

// A PASS leads from the smoke to the certificate, to its signature, to the headroom.
func TestAfterPass(t *testing.T) {
	file := spec.File{Profiles: map[string]spec.Profile{"payment": {}, "payment-certificate": {}, "event": {}, "own-certificate": {}}}
	signed := t.TempDir()
	if err := os.WriteFile(filepath.Join(signed, issue.BundleFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ profile, dir, want string }{
		{"payment", t.TempDir(), "certify it for longer: assay certify payment-certificate"},
		{"payment", signed, "certify it for longer: assay certify payment-certificate"},
		{"payment-certificate", t.TempDir(), "sign certificates: assay keygen keys; export ASSAY_SIGNING_KEY=keys/assay.key"},
		{"payment-certificate", signed, "see how much more it takes: assay search payment"},
		{"own-certificate", signed, "see how much more it takes: assay search own-certificate"},
		{"event", t.TempDir(), "see how much more it takes: assay search event"},
	} {
		if got := afterPass(file, tt.profile, tt.dir); got != tt.want {
			t.Errorf("%s: %s", tt.profile, got)
		}
	}
}
