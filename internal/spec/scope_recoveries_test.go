package spec_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// What recoveries may take of the time at the target: each from its begin for as long as its SLO
// allows.
func TestInRecoveries(t *testing.T) {
	limit := func(name string, s float64) spec.SLO {
		return spec.SLO{Metric: name, Aggregate: spec.Max, Operator: "<", Bound: 1000 * s}
	}
	hold := spec.Load{Unit: "tps", Target: 20, Baseline: spec.Baseline{Rate: 10, For: time.Minute}, Hold: 10 * time.Minute}
	overload := []spec.Stage{
		{Rate: 20, For: 5 * time.Minute, Judge: true},
		{Rate: 30, For: time.Minute, Overload: true},
		{Rate: 20, Ramp: 5 * time.Second, For: 5 * time.Minute, Judge: true},
	}
	for name, c := range map[string]struct {
		load   spec.Load
		slo    spec.SLO
		faults []spec.Fault
		want   time.Duration
	}{
		"none":                        {hold, limit(metric.RecoveryTime, 20), nil, 0},
		"a fault, to the end":         {hold, limit(metric.RecoveryTime, 20), []spec.Fault{{Node: "a"}}, 21 * time.Second},
		"a fault and its end":         {hold, limit(metric.RecoveryTime, 20), []spec.Fault{{Node: "a", For: time.Minute}}, 42 * time.Second},
		"a fault, judged by all SLOs": {hold, limit(metric.SettleTime, 20), []spec.Fault{{Node: "a"}}, 0},
		"a step up":                   {hold, limit(metric.TimeToScale, 30), nil, 30 * time.Second},
		"longer than all":             {hold, limit(metric.TimeToScale, 3000), nil, 10 * time.Minute},
		"an overload":                 {spec.Load{Unit: "tps", Stages: overload}, limit(metric.SettleTime, 20), nil, 15 * time.Second},
		"a step that is none":         {spec.Load{Unit: "tps", Stages: overload}, limit(metric.TimeToScale, 20), nil, 0},
	} {
		p := spec.Profile{Name: "test", Faults: c.faults, Flows: []spec.Flow{{Load: c.load, SLOs: []spec.SLO{c.slo}}}}
		if got := p.InRecoveries(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
