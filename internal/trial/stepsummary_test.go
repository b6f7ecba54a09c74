//go:build live

package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/sealed"
)

// A summary that cannot take the certificate is an error, and stays as it was.
func TestAppendStepSummary(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sealed.MarkdownFile), []byte("## PASS\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		before, after string
		err           string
	}{
		"new":       {"", "## PASS\n", ""},
		"appended":  {"# Steps\n", "# Steps\n## PASS\n", ""},
		"just fits": {strings.Repeat("x", stepSummaryLimit-8), strings.Repeat("x", stepSummaryLimit-8) + "## PASS\n", ""},
		"full":      {strings.Repeat("x", stepSummaryLimit-7), strings.Repeat("x", stepSummaryLimit-7), "full would be longer than the 1024 KiB that GitHub shows"},
	} {
		path := filepath.Join(folder, name)
		t.Setenv("GITHUB_STEP_SUMMARY", path)
		if err := os.WriteFile(path, []byte(c.before), 0o644); err != nil {
			t.Fatal(err)
		}
		err := appendStepSummary(dir)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.after {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(c.after))
		}
	}
	t.Setenv("GITHUB_STEP_SUMMARY", folder)
	if err := appendStepSummary(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder: %v", err)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	if err := appendStepSummary(t.TempDir()); err != nil {
		t.Errorf("no summary: %v", err)
	}
}
