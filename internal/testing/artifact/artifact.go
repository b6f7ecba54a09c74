package artifact

import (
	"os"
	"path/filepath"
	"testing"
)

// Keep keeps a folder when the test ends, before it is removed, if the test has failed by
// then.
func Keep(t testing.TB, folder string) {
	t.Helper()
	t.Cleanup(func() { KeepNow(t, folder) })
}

// KeepNow keeps folders of a test that has failed. One that does not exist is left out.
func KeepNow(t testing.TB, folders ...string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			continue
		}
		to := filepath.Join(t.ArtifactDir(), filepath.Base(folder))
		if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
			t.Logf("keep %s: %v", folder, err)
			continue
		}
		t.Logf("%s is kept in %s", filepath.Base(folder), to)
	}
}
