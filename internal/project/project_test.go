//go:build live

package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/spec"
)

func TestFilesMakeAProject(t *testing.T) {
	files, err := projectFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"thresholds.json", schemaFile, "scenarios/checkout.js", "scenarios/payment.js", "scenarios/lib/ledger.js", "dashboards/certification.json",
		"docker-compose.yml", "Dockerfile", ".dockerignore", "docker/setup.sh", ".github/workflows/certify.yml", ".gitlab/certify.yml", ".gitignore", "README.md",
	} {
		if len(files[path]) == 0 {
			t.Errorf("no %s", path)
		}
	}
	file, err := spec.Decode("thresholds.json", files["thresholds.json"])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range file.Names() {
		p, err := file.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Flows {
			if len(files[f.Scenario]) == 0 {
				t.Errorf("profile %s: no %s", name, f.Scenario)
			}
		}
		for stub, s := range p.Stubs {
			data := files[s.File]
			if _, err := spec.DecodeStub(s.File, data); err != nil || !strings.Contains(string(data), `"$schema": "../`+stubSchemaFile+`"`) {
				t.Errorf("profile %s: stub %s: %v", name, stub, err)
			}
		}
	}
	if _, err := file.Profile("checkout"); err != nil {
		t.Error(err)
	}
	experiments := 0
	for path, data := range files {
		if !strings.HasPrefix(path, "scenarios/experiments/") {
			continue
		}
		experiments++
		e, err := spec.DecodeExperiment(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := file.Profile(e.Profile); err != nil || !strings.Contains(string(data), `"$schema": "../../`+experimentSchemaFile+`"`) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(files[stubSchemaFile]) == 0 {
		t.Error("there is no schema of stubs")
	}
	if experiments == 0 || len(files[experimentSchemaFile]) == 0 {
		t.Error("there is no experiment, or no schema of experiments")
	}
	if !strings.Contains(string(files["thresholds.json"]), `"$schema": "`+schemaFile+`"`) {
		t.Error("thresholds.json does not name its schema")
	}
}

// A project that cannot be written whole is not written at all.
func TestNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "new", "project")
	// A file has the name of one of the project's folders.
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "scenarios"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(below); err == nil {
		t.Fatal("a file in the place of a folder was no error")
	}
	left, err := os.ReadDir(below)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(below, "scenarios")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(below); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(below); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
}

// A new project's README shows every default of a profile, as a profile without
// them is decoded.
func TestProjectReadmeShowsDefaults(t *testing.T) {
	text, err := fs.ReadFile(own, "files/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	decode := func(profile string) spec.Profile {
		t.Helper()
		f, err := spec.Decode("README.md", []byte(`{"version": 1, "profiles": {`+profile+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		return f.Profiles["checkout"]
	}
	shown, short := decode(block), decode(`"checkout": {"scenario": "s.js", "load": {"target": 100}, "slo": {"checks": ["rate>0.9"]}}`)
	shown.Flows[0].Load.HoldMax = 0 // has no default
	if diff := cmp.Diff(short.Flows[0].Load, shown.Flows[0].Load); diff != "" || shown.Flows[0].Timeout != short.Flows[0].Timeout {
		t.Errorf("timeout %v, want %v; load: %s", shown.Flows[0].Timeout, short.Flows[0].Timeout, diff)
	}
}

// The README of this repository and a new project's agree.
func TestReadmesShareWalkThrough(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	own, err := fs.ReadFile(own, "files/README.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(text []byte, heading, next string) string {
		_, rest, _ := strings.Cut(string(text), heading+"\n")
		found, _, _ := strings.Cut(rest, next)
		return strings.TrimSpace(found)
	}
	here := section(readme, "## Your own service in ten minutes", "\n## ")
	there := section(own, "## Your own service in ten minutes", "\n## ")
	if diff := cmp.Diff(here, there); here == "" || diff != "" {
		t.Errorf("README.md (-), a new project's (+):\n%s", diff)
	}
}
