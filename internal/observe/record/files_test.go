package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
)

// WriteFile writes whole or not at all.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, content := range []string{"{}", `{"longer": true}`, ""} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v, want %q", got, err, content)
		}
	}
	taken := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(taken, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(taken, []byte("{}")); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("over a folder: %v", err)
	}
	if err := WriteFile(filepath.Join(dir, "no", "b.json"), nil); err == nil {
		t.Error("in a missing folder: no error")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("files in the folder: %v", all)
	}
}

// An output file that cannot be written is rejected with the step that helps.
func TestCheckOutputFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ problem, hint string }{
		file:                                  {},
		filepath.Join(dir, "new.html"):        {},
		dir:                                   {"is a folder", "name a file in it"},
		filepath.Join(dir, "no", "new.html"):  {"no such file", "mkdir -p"},
		filepath.Join(file, "new.html"):       {"is not a folder", "in an existing folder"},
		filepath.Join(file, "no", "new.html"): {"not a directory", "in an existing folder"},
	} {
		err := CheckOutputFile("--html", path)
		if (err == nil) != (want.problem == "") || err != nil && (!strings.Contains(err.Error(), want.problem) || !strings.Contains(hint.Of(err), want.hint)) {
			t.Errorf("%s: %v; hint %q, want %+v", path, err, hint.Of(err), want)
		}
	}
}

// However many folders lead to one large plan, looking for earlier runs ends soon.
func TestLookingForRunsEndsSoon(t *testing.T) {
	runs := t.TempDir()
	plan, err := json.Marshal(aPlan())
	must(t, err)
	large := filepath.Join(runs, "plan")
	must(t, os.WriteFile(large, append(plan, bytes.Repeat([]byte(" "), MaxDocument-len(plan))...), 0o600))
	for n := range 200 {
		evidence := filepath.Join(runs, fmt.Sprint(n), EvidenceDir)
		must(t, os.MkdirAll(evidence, 0o755), os.Link(large, filepath.Join(evidence, planFile)))
	}
	n := 0
	for range Plans(runs) {
		n++
	}
	if n != maxDocuments/MaxDocument {
		t.Errorf("%d plans were read", n)
	}
}
