package fleet_test

import (
	"archive/tar"
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"go.k6.io/k6/v2/lib"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/spec"
)

// The files of a script are found, also those in a home folder, whose name k6 hides in
// archives.
func TestFiles(t *testing.T) {
	t.Parallel()
	for script, others := range map[string][]string{
		"/srv/p/scenarios/pay.js":        {"/srv/p/scenarios/lib/a.js", "/srv/data.csv"},
		"/home/ana/p/scenarios/pay.js":   {"/home/ana/p/data/users.csv", "/home/ana/shared.js", "/srv/data.csv"},
		"/home/nobody/p/pay.js":          {"/home/nobody/p/a.js"},
		"/Users/ana/p/pay.js":            {"/Users/ana/p/a.js"},
		"/srv/home/ana/pay.js":           {"/srv/home/ana/a.js"},
		"/home/ana/home/nobody/pay.js":   {"/home/ana/home/nobody/a.js", "/home/ana/home/ana/a.js"},
		"/home/o'neil é/my tests/pay.js": {"/home/o'neil é/my tests/a b.js"},
	} {
		want := append([]string{script}, others...)
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		headers := []tar.Header{{Name: "metadata.json"}, {Name: "data"}, {Name: "file/srv", Typeflag: tar.TypeDir}, {Name: "https/example.com/a.js"}}
		for _, name := range want {
			headers = append(headers, tar.Header{Name: "file" + lib.NormalizeAndAnonymizePath(name)})
		}
		for _, h := range headers {
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := fleet.Files(archive.Bytes(), mainAt(script))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := fleet.Files([]byte("no archive, and longer than a block"), mainAt("pay.js")); err == nil {
		t.Error("text was read as an archive")
	}
}

// mainAt is the module of a profile whose script has this path.
func mainAt(script string) fleet.Main {
	file := spec.File{Path: filepath.Join(filepath.Dir(script), "thresholds.json")}
	return fleet.MainOf(file, spec.Profile{Flows: []spec.Flow{{Scenario: filepath.Base(script)}}})
}
