package fleet_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/load/arrivals"
	"assay/harness/load/fleet"
	"assay/harness/load/k6"
	"assay/harness/plan"
	"assay/harness/spec"
)

// fleetSpec describes a fleet for a profile.
func fleetSpec(t *testing.T, profile string, workers int) fleet.Spec {
	t.Helper()
	slo := spec.SLO{Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250}
	p := spec.Profile{
		Name: profile, Timeout: 5 * time.Second, SLOs: []spec.SLO{slo},
		Load: spec.Load{Unit: "tps", Target: 60, Baseline: spec.Baseline{Rate: 20, For: time.Second}, Hold: 10 * time.Second},
	}
	pl, err := plan.New(p, workers, 42)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Spec{
		Run: "a-run", Profile: p, Plan: pl, Script: "/srv/pay.js", Target: "http://127.0.0.1:8080",
		URL: "http://127.0.0.1:999", Token: "the-token", DSN: "user:the-password@tcp(db)/shop",
		Outputs: []string{"csv=raw-%d.csv"}, Dir: t.TempDir(),
	}
}

// read decodes a file of a worker, which must hold no secret.
func read[T any](t *testing.T, path string) (content T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "the-") {
		t.Errorf("%s holds a secret: %s", filepath.Base(path), data)
	}
	return content
}

func TestPrepare(t *testing.T) {
	t.Setenv("K6_VUS", "7")
	t.Setenv("ASSAY_SIGNING_KEY", "the-key")
	t.Setenv("SSL_CERT_FILE", "/srv/ca.pem")
	s := fleetSpec(t, "payment", 3)
	for i := range 3 {
		w, err := s.Prepare(i)
		if err != nil {
			t.Fatal(err)
		}
		after := func(flag string) string {
			at := slices.Index(w.Args, flag)
			if at < 0 {
				return ""
			}
			return w.Args[at+1]
		}
		if line := strings.Join(w.Args, " "); strings.Contains(line, "the-") {
			t.Errorf("a secret is on the command line: %s", line)
		}
		env := strings.Join(w.Env, " ")
		if strings.Contains(env, "K6_") || strings.Contains(env, "the-key") || !strings.Contains(env, "ASSAY_COORDINATOR_TOKEN=the-token") ||
			!strings.Contains(env, "ASSAY_DB=user:the-password@tcp(db)/shop") || !strings.Contains(env, "SSL_CERT_FILE=/srv/ca.pem") {
			t.Errorf("environment %q", w.Env)
		}
		// setup() and teardown() are the first worker's.
		if slices.Contains(w.Args, "--no-setup") != (i > 0) || slices.Contains(w.Args, "--no-teardown") != (i > 0) {
			t.Errorf("worker %d: %q", i, w.Args)
		}
		if got, want := after("--execution-segment"), []string{"0:1/3", "1/3:2/3", "2/3:1"}[i]; got != want || after("--execution-segment-sequence") != "0,1/3,2/3,1" {
			t.Errorf("worker %d has the segment %s of %s", i, got, after("--execution-segment-sequence"))
		}
		if !slices.Contains(w.Args, "csv=raw-"+string(rune('0'+i))+".csv") || w.Args[len(w.Args)-1] != s.Script {
			t.Errorf("worker %d: %q", i, w.Args)
		}
		config := read[struct {
			Scenarios map[string]struct {
				Executor string
				Assay    arrivals.Parameters
			}
		}](t, after("--config"))
		one := config.Scenarios["payment"]
		if len(config.Scenarios) != 1 || one.Executor != arrivals.ExecutorType || one.Assay.RunSetup != (i == 0) ||
			one.Assay.Seed != 42 || one.Assay.VUs != s.Plan.Workers[i].VUs || one.Assay.Timeout != 5*time.Second || !slices.Equal(one.Assay.Stages, s.Plan.Stages) {
			t.Errorf("configuration %+v", config)
		}
		session := read[k6.Session](t, strings.TrimPrefix(after("--out"), k6.OutputName+"="))
		if session.Run != "a-run" || session.Scenario != "payment" || len(session.SLOs) != 1 || session.DisplacedAfter != s.Plan.DisplacedAfter {
			t.Errorf("session %+v", session)
		}
	}
	alone, err := fleetSpec(t, "payment", 1).Prepare(0)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(alone.Args, "--execution-segment") || slices.Contains(alone.Args, "--no-setup") {
		t.Errorf("a single worker: %q", alone.Args)
	}
}

// k6 takes letters, digits, - and _ in names of scenarios.
func TestScenarioNames(t *testing.T) {
	for profile, want := range map[string]string{
		"payment": "payment", "Pay-2_b": "Pay-2_b", "black friday!": "black_friday_", "été": "__t__", "a/b:c.d": "a_b_c_d",
	} {
		s := fleetSpec(t, profile, 1)
		if _, err := s.Prepare(0); err != nil {
			t.Fatal(err)
		}
		if got := read[k6.Session](t, filepath.Join(s.Dir, "worker-0.session.json")).Scenario; got != want {
			t.Errorf("profile %q has the scenario %q, want %q", profile, got, want)
		}
	}
}
