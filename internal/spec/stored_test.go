package spec_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// The JSON of a profile has the keys of its only flow, where that has no name, and a profile
// that is read back is the same. None that Check accepts has SLOs that nobody judges.
func TestStoredProfiles(t *testing.T) {
	f, err := spec.Decode("t.json", []byte(`{"version": 1, "profiles": {
		"one": {"scenario": "a.js", "load": {"target": 10}, "slo": {"transaction_duration": ["p(95)<250"]}, "needs": ["db"], "expected_statuses": {"http": [0, 503], "grpc": [14]}},
		"two": {"flows": {"a": {"scenario": "a.js", "load": {"target": 10}, "slo": {"http_req_failed": ["rate<0.1"]}, "expected_statuses": {"ws": [403]}}}, "gauges": {"queue_depth": {"metric": "q"}}, "slo": {"queue_depth": ["max<9"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	one, two := f.Profiles["one"].Flows[0].Expected, f.Profiles["two"].Flows[0].Expected
	if !one.Has(metric.HTTP, "503") || !one.Has(metric.HTTP, "0") || one.Has(metric.GRPC, "503") || !two.Has(metric.WebSocket, "403") || two.Has(metric.WebSocket, "") {
		t.Errorf("expected statuses %+v, %+v", one, two)
	}
	for name, want := range map[string]string{
		"one": "expected_statuses load marking name needs rules scenario slos timeout_ns",
		"two": "flows gauges load marking name rules slos timeout_ns",
	} {
		text, err := json.Marshal(f.Profiles[name])
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		var got spec.Profile
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(keys)), " "); got != want {
			t.Errorf("%s has the keys %s, want %s", name, got, want)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.Profiles[name], got); diff != "" || got.Check() != nil {
			t.Errorf("%s: %v\n%s", name, got.Check(), diff)
		}
		if got.Common = f.Profiles["two"].Common; (got.Check() == nil) != got.Named() {
			t.Errorf("%s with SLOs of all flows: %v", name, got.Check())
		}
		if err := json.Unmarshal([]byte(strings.Replace(string(text), `"load"`, `"laod"`, 1)), &got); err == nil {
			t.Errorf("%s: an unknown key is accepted", name)
		}
	}
}

// An experiment changes one load.
func TestExperimentOnFlows(t *testing.T) {
	p := spec.Profile{Name: "two", Flows: []spec.Flow{{Name: "a"}, {Name: "b"}}}
	if _, err := (spec.LoadChange{}).Apply(p); err == nil || err.Error() != "profiles.two.flows: an experiment changes one load, and the profile has flows" {
		t.Error(err)
	}
}
