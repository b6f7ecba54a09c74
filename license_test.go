package assay_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add the missing licence headers")

// apache is the first line of the files that gates may embed. All others are AGPL-3.0-only,
// like k6, which they link.
const apache = "// SPDX-License-Identifier: Apache-2.0\n\n"

// What assay-verify links of this repository is Apache-2.0, and nothing else claims to be.
func TestLicenceHeaders(t *testing.T) {
	embeddable := map[string]bool{}
	for _, system := range []string{"linux", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{end}}{{end}}", "./cmd/assay-verify")
		list.Env = append(os.Environ(), "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			embeddable[strings.TrimPrefix(path, root+"/")] = true
		}
	}
	if len(embeddable) < 100 {
		t.Errorf("%d files: this test tests nothing", len(embeddable))
	}
	goFiles(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch has := strings.HasPrefix(string(text), apache); {
		case embeddable[path] && !has && *update:
			if err := os.WriteFile(path, append([]byte(apache), text...), 0o644); err != nil {
				t.Fatal(err)
			}
		case embeddable[path] && !has:
			t.Errorf("%s is linked by assay-verify and has no Apache-2.0 header: go test . -update", path)
		case has && !embeddable[path] && !strings.HasPrefix(path, "internal/load/sql/xk6sql/"): // kept from its authors
			t.Errorf("%s has an Apache-2.0 header, but is not linked by assay-verify", path)
		}
	})
}
