//go:build live

package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/testing/budget"
)

// validate validates files with xmllint, by both schemas.
func validate(files ...string) error {
	for _, schema := range []string{"jenkins-junit-10.xsd", "ant-junit.xsd"} {
		args := append([]string{"--noout", "--nonet", "--schema", filepath.Join("testdata", "xsd", schema)}, files...)
		if out, err := exec.Command("xmllint", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w (make test installs xmllint where it is missing)\n%s", schema, err, out)
		}
	}
	return nil
}

func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	dir := t.TempDir()
	var files []string
	keep := func(data []byte) {
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.xml", len(files))))
		if err := os.WriteFile(files[len(files)-1], data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		keep(junit(t, example(name)))
	}
	for _, c := range aborted() {
		keep(junit(t, c))
	}
	keep(junit(t, certificate.Certificate{}))
	generated := rapid.Custom(anyCertificate)
	for seed := range 60 {
		keep(junit(t, generated.Example(seed)))
	}
	if err := validate(files...); err != nil {
		t.Error(err)
	}
	// The validator does find errors.
	broken := strings.Replace(string(junit(t, example("fail"))), "<failure", "<flaw", 1)
	broken = strings.Replace(broken, "</failure", "</flaw", 1)
	keep([]byte(broken))
	if err := validate(files[len(files)-1]); err == nil {
		t.Error("a report with an element of our own is valid")
	}
}
