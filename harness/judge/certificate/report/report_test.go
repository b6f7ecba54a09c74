package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

func certify(r record.Run) certificate.Certificate {
	return certificate.Of(r)
}

func example(name string) certificate.Certificate { return certify(synthetic.Cases()[name]) }

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

func pointer[T any](v T) *T { return &v }
