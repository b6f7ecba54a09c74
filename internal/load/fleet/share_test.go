package fleet_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// fleetSpec describes a run for a profile.
func fleetSpec(t *testing.T, profile string, weights ...int) fleet.Spec {
	t.Helper()
	slo := spec.SLO{Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250}
	p := spec.Profile{
		Name: profile, Flows: []spec.Flow{{Timeout: 5 * time.Second, SLOs: []spec.SLO{slo}, Load: spec.Load{Unit: "tps", Target: 60, Baseline: spec.Baseline{Rate: 20, For: time.Second}, Hold: 10 * time.Second}}},
	}
	pl, err := plan.NewWeighted(p, weights, 42)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Spec{
		Run: "a-run", Profile: p, Plan: pl, Archive: "aa", Target: "http://127.0.0.1:8080", Hosts: []string{"shop.test"},
		DSN: "user:the-password@tcp(db)/shop", Outputs: []string{"csv=raw-%d.csv"},
	}
}

func assignment(t *testing.T, s fleet.Spec, i int) wire.Assignment {
	t.Helper()
	a, err := s.Assignment(i)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read[T any](t *testing.T, data json.RawMessage) (content T) {
	t.Helper()
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAssignment(t *testing.T) {
	s := fleetSpec(t, "payment", 1, 1, 2)
	for i := range 3 {
		a := assignment(t, s, i)
		// setup() and teardown() are the first worker's.
		if a.Setup != (i == 0) || a.Number != i || a.Of != 3 || a.Run != "a-run" || a.Archive != "aa" || a.Seed != 42 || a.Target != s.Target ||
			a.Database != s.DSN || a.Credential != "" || !slices.Equal(a.Outputs, s.Outputs) || !slices.Equal(a.SystemTags, k6.SystemTags(s.Profile.Flows[0].SLOs)) {
			t.Errorf("worker %d: %+v", i, a)
		}
		if want := []string{"0:1/4", "1/4:2/4", "2/4:1"}[i]; a.Segment != want || a.Sequence != "0,1/4,2/4,1" {
			t.Errorf("worker %d has the segment %s of %s, want %s", i, a.Segment, a.Sequence, want)
		}
		config := read[struct {
			Scenarios map[string]struct {
				Executor string
				Assay    arrivals.Parameters
			}
			DNS struct{ TTL string }
		}](t, a.Config)
		if config.DNS.TTL != "5s" {
			t.Errorf("an address is remembered for %q", config.DNS.TTL)
		}
		one := config.Scenarios["payment"]
		if len(config.Scenarios) != 1 || one.Executor != arrivals.ExecutorType || one.Assay.RunSetup != (i == 0) || !slices.Equal(one.Assay.Hosts, s.Hosts) ||
			one.Assay.Seed != 42 || one.Assay.VUs != s.Plan.Workers[i].VUs || one.Assay.Timeout != 5*time.Second || !slices.Equal(one.Assay.Stages, s.Plan.Stages) {
			t.Errorf("configuration %+v", config)
		}
		session := read[k6.Session](t, a.Session)
		if f := session.Flows[0]; session.Run != "a-run" || len(session.Flows) != 1 || f.Scenario != "payment" || len(f.SLOs) != 1 || f.DisplacedAfter != s.Plan.DisplacedAfter || session.Rate != []float64{15, 15, 30}[i] {
			t.Errorf("session %+v", session)
		}
	}
	if alone := assignment(t, fleetSpec(t, "payment", 1), 0); alone.Sequence != "" || !alone.Setup {
		t.Errorf("a single worker: %+v", alone)
	}
}

// k6 takes letters, digits, - and _ in names of scenarios.
func TestScenarioNames(t *testing.T) {
	for profile, want := range map[string]string{
		"payment": "payment", "Pay-2_b": "Pay-2_b", "black friday!": "black_friday_", "été": "__t__", "a/b:c.d": "a_b_c_d",
	} {
		if got := read[k6.Session](t, assignment(t, fleetSpec(t, profile, 1), 0).Session).Flows[0].Scenario; got != want {
			t.Errorf("profile %q has the scenario %q, want %q", profile, got, want)
		}
	}
}
