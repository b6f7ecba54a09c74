// Package goldentest compares what a test makes with a golden file of its package.
//
// Input: the name of a file in testdata, and bytes. Output: the test fails with the difference,
// or, with the flag -update, the file is written.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update says that golden files are written instead of compared.
var Update = flag.Bool("update", false, "write the golden files")

// Compare compares got with the golden file of this name in testdata.
func Compare(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
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
		t.Errorf("%s (-want +got; run with -update to accept):\n%s", path, diff)
	}
}
