package spec_test

import (
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// FuzzDecode: whatever the file, Decode answers with a profile that can be
// planned, or with errors of one line each that name a line.
func FuzzDecode(f *testing.F) {
	good, err := filepath.Glob("testdata/good/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(good, "../../thresholds.json") {
		f.Add(read(f, path))
	}
	for _, c := range badCases(f) {
		f.Add(c.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := spec.Decode("fuzz.json", data)
		if err != nil {
			_ = faults(t, "fuzz.json", err)
			return
		}
		for name, p := range file.Profiles {
			if p.Name != name || len(p.AllSLOs()) == 0 {
				t.Fatalf("profile %q: %+v", name, p)
			}
			ids := map[string]bool{}
			for _, s := range p.AllSLOs() {
				if ids[s.ID()] {
					t.Fatalf("two SLOs are %s", s.ID())
				}
				ids[s.ID()] = true
			}
			_ = p.CheckMetrics(nil)
			_ = p.Limits()
			pl, err := plan.New(p, 2, 1)
			if err != nil && !strings.Contains(err.Error(), "more than the maximum of") {
				t.Fatalf("plan %q: %v", name, err)
			}
			if err == nil && (pl.DisplacedAfter <= 0 || pl.Workers[0].VUs <= 0) {
				t.Fatalf("plan %q: %+v", name, pl)
			}
		}
	})
}
