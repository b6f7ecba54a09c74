//go:build live

package trial

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// After a PASS the next step is the certificate, then its signature, then the search.
func TestAfterPass(t *testing.T) {
	file := spec.File{Profiles: map[string]spec.Profile{"payment": {}, "payment-certificate": {}, "event": {}, "own-certificate": {}}}
	signed := t.TempDir()
	if err := os.WriteFile(filepath.Join(signed, issue.BundleFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ profile, dir, want string }{
		{"payment", t.TempDir(), "certify at 95 % confidence, with a longer hold: assay certify payment-certificate"},
		{"payment", signed, "certify at 95 % confidence, with a longer hold: assay certify payment-certificate"},
		{"payment-certificate", t.TempDir(), "sign certificates: assay keygen keys; export ASSAY_SIGNING_KEY=keys/assay.key"},
		{"payment-certificate", signed, "find the highest rate within the SLOs: assay search payment"},
		{"own-certificate", signed, "find the highest rate within the SLOs: assay search own-certificate"},
		{"event", t.TempDir(), "find the highest rate within the SLOs: assay search event"},
	} {
		if got := afterPass(file, tt.profile, tt.dir); got != tt.want {
			t.Errorf("%s: %s", tt.profile, got)
		}
	}
}

// After an INCONCLUSIVE run the next step is the hold that has enough samples, or twice the
// hold where there were enough; stages have no hold.
func TestAfterInconclusive(t *testing.T) {
	load := spec.Load{Unit: "tps", Target: 10, Baseline: spec.Baseline{Rate: 5, For: time.Second}, Hold: 20 * time.Second}
	latency := func(quantile float64) []spec.SLO {
		return []spec.SLO{{Metric: "transaction_duration", Aggregate: spec.Percentile, Quantile: quantile, Operator: "<", Bound: 100}}
	}
	stages := load
	stages.Target, stages.Hold = 0, 0
	stages.Stages = []spec.Stage{{Rate: 10, For: 20 * time.Second, Judge: true}}
	for name, c := range map[string]struct {
		load spec.Load
		slos []spec.SLO
		want string
	}{
		"too few samples": {load, latency(0.999), "hold longer: assay certify payment --hold 9m0s"},
		"close":           {load, latency(0.5), "hold longer: assay certify payment --hold 40s"},
		"stages":          {stages, latency(0.5), "hold longer, raise the rate, or use a lower percentile"},
	} {
		o := run.Options{Task: run.Task{Profile: spec.Profile{Name: "payment", Flows: []spec.Flow{{Scenario: "a.js", Timeout: time.Second, Load: c.load, SLOs: c.slos}}}, Workers: 1, Scope: spec.ScopeSmoke, Runs: t.TempDir()}}
		if got := nextStep(o, sealed.Result{Verdict: verdict.Verdict{Outcome: verdict.Inconclusive}}); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
