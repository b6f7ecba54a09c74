package spec_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/schematest"
)

const fullExperiment = "testdata/experiment/full.json"

func TestDecodeExperimentReadsEveryKey(t *testing.T) {
	got, err := spec.DecodeExperiment(fullExperiment, read(t, fullExperiment))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Digest) != 71 {
		t.Errorf("digest %q", got.Digest)
	}
	seconds := func(n int) *time.Duration { d := time.Duration(n) * time.Second; return &d }
	seed := uint64(42)
	want := spec.Experiment{
		Path: fullExperiment, Digest: got.Digest, Name: "full",
		Description: "every key once", Question: "is every key read?", Source: "nobody", Profile: "payment",
		Load: spec.LoadChange{
			Target: 200, Workers: 2, Warmup: seconds(1), Ramp: seconds(2), Hold: seconds(30), Cooldown: seconds(3),
			Baseline: &spec.Baseline{Rate: 50, For: 5 * time.Second},
		},
		Pairs: 8, Tolerance: 0.05, Seed: &seed, Primary: []string{"transaction p99", "database binlog"},
		Variants: []spec.Variant{
			{Name: "as-is", Description: "the control"},
			{
				Name: "all", Global: []spec.Setting{{Name: "sync_binlog", Value: "0"}, {Name: "cache.key_buffer_size", Value: "64"}},
				SQL:      &spec.Steps{Apply: []string{"CREATE INDEX i ON t (c)"}, Revert: []string{"DROP INDEX i ON t"}},
				Database: []string{"--skip-log-bin"}, Service: []string{"--commits", "transaction"},
				Command: &spec.Steps{Apply: []string{"tc", "add"}, Revert: []string{"tc", "del"}}, Readers: 4,
			},
		},
		Capacity: &spec.Capacity{From: 100, Max: 1000, Trial: 20 * time.Second, Trials: 2, Width: 0.1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExperimentsOfTheProject: the experiments of this repository are valid, and so
// are their changes to the loads of their profiles.
func TestExperimentsOfTheProject(t *testing.T) {
	thresholds := decode(t, "../../thresholds.json")
	schema := schematest.Compile(t, "experiment.schema.json")
	files := experimentFiles(t)
	if len(files) == 0 {
		t.Fatal("there is none")
	}
	for _, path := range files {
		e, err := spec.DecodeExperiment(path, read(t, path))
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := thresholds.Profile(e.Profile)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p, err = e.Load.Apply(p); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if e.Load.Target > 0 && p.Target() != e.Load.Target {
			t.Errorf("%s: %g/s instead of %g/s", path, p.Target(), e.Load.Target)
		}
		schematest.Validate(t, schema, read(t, path))
	}
}

func experimentFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../scenarios/experiments/*.json")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// badExperiments are the files that testdata/experiment/bad.edits makes of full.json.
func badExperiments(t testing.TB) (all []badCase) {
	t.Helper()
	for _, e := range editsIn(t, "testdata/experiment/bad.edits", func(string) string { return fullExperiment }) {
		all = append(all, e.badCase())
	}
	return all
}

func TestDecodeExperimentBadFiles(t *testing.T) {
	schema := schematest.Compile(t, "experiment.schema.json")
	var got strings.Builder
	for _, c := range badExperiments(t) {
		_, err := spec.DecodeExperiment(c.path, c.data)
		all := faults(t, c.path, err)
		if len(all) > 1 {
			t.Errorf("%s: one mistake is reported %d times", c.path, len(all))
		}
		got.WriteString(listing(all))
		checkRefused(t, schema, c)
	}
	compareGolden(t, "testdata/experiment/bad.golden", got.String())
}

// An experiment changes phases of a profile that has phases.
func TestLoadChangeOfStages(t *testing.T) {
	p := decode(t, "testdata/good/stages.json").Profiles["flash-sale"]
	hold := time.Minute
	if _, err := (spec.LoadChange{Hold: &hold}).Apply(p); err == nil {
		t.Error("a hold for stages was no error")
	}
	scaled, err := (spec.LoadChange{Target: 600}).Apply(p)
	if err != nil || scaled.Target() != 600 {
		t.Errorf("%g/s, error %v", scaled.Target(), err)
	}
}

// FuzzDecodeExperiment: whatever the file, DecodeExperiment answers with an
// experiment that can be run, or with errors of one line each that name a line.
func FuzzDecodeExperiment(f *testing.F) {
	f.Add(read(f, fullExperiment))
	for _, path := range experimentFiles(f) {
		f.Add(read(f, path))
	}
	for _, c := range badExperiments(f) {
		f.Add(c.data)
	}
	profile := decode(f, "../../thresholds.json").Profiles["payment"]
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := spec.DecodeExperiment("fuzz.json", data)
		if err != nil {
			_ = faults(t, "fuzz.json", err)
			return
		}
		if e.Name != "fuzz" || len(e.Variants) < 2 || e.Pairs < 1 || len(e.Primary) == 0 || !(e.Tolerance > 0) {
			t.Fatalf("%+v", e)
		}
		for _, v := range e.Variants {
			if v.Name == "" || v.Name == ".." || strings.ContainsAny(v.Name, "/\\") {
				t.Fatalf("variant %q names no folder", v.Name)
			}
			if v.SQL != nil && len(v.SQL.Revert) == 0 || v.Command != nil && len(v.Command.Revert) == 0 {
				t.Fatalf("%+v cannot be reverted", v)
			}
		}
		if p, err := e.Load.Apply(profile); err == nil && p.Target() <= 0 {
			t.Fatalf("load %+v", p.Flows[0].Load)
		}
	})
}

// An experiment can be decided on latency at equal load, on database time per transaction, in
// total and by class of wait, and on costs per transaction: the schema lists them.
func TestSchemaListsTheMetrics(t *testing.T) {
	want := []string{"transaction p50", "transaction p95", "transaction p99", "transaction p99.9", "transaction mean", spec.WaitMetric("")}
	for _, class := range wait.Classes() {
		want = append(want, spec.WaitMetric(class))
	}
	var schema struct {
		Properties struct {
			Primary struct{ Items struct{ Enum []string } }
		}
	}
	if err := json.Unmarshal(spec.ExperimentSchema, &schema); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, metric.Costs...), schema.Properties.Primary.Items.Enum); diff != "" {
		t.Errorf("primary (-metrics +schema):\n%s", diff)
	}
}
