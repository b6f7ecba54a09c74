package trial

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/comparetest"

	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/run"
)

// The load is over and its record sealed: a link that cannot be made takes nobody's certificate.
func TestLatestThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	if err := comparetest.Write(dir, "A", 1); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "A", "00")
	r, err := sealed.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	maker := func(context.Context, run.Options, *Progress) (sealed.Result, error) { return r, nil }
	o := run.Options{Dir: dir}
	_, _, err = Certify(t.Context(), o, &Console{W: &said}, nil, filepath.Join(dir, "missing"), maker)
	if err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, issue.CertificateFile)); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "the run is in "+dir+": link latest run: ") {
		t.Errorf("said: %q", said.String())
	}
}
