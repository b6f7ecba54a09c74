package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/testing/synthetic"
)

var update = flag.Bool("update", false, "update the golden files")

// names of the synthetic cases.
var names = []string{"cluster", "fail", "invalid", "lost", "pass"}

// The records and certificates of the cases, which are expensive to make.
var (
	records      = sync.OnceValue(synthetic.Examples)
	certificates = sync.OnceValue(func() map[string][]byte {
		all := map[string][]byte{}
		for name, r := range records() {
			data, err := certificate.Marshal(build.Of(r))
			if err != nil {
				panic(err)
			}
			all[name] = data
		}
		return all
	})
)

// example is a fresh copy of a case's certificate, which the caller may change.
func example(name string) (c certificate.Certificate) {
	if err := json.Unmarshal(certificates()[name], &c); err != nil {
		panic(err)
	}
	return c
}

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
		t.Errorf("%s (-want +got; run with -update to accept):\n%s", name, diff)
	}
}

func pointer[T any](v T) *T { return &v }
