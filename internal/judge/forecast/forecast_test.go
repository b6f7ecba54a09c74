package forecast

import (
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

func percentile(text string, p float64, basis spec.Basis) spec.SLO {
	return spec.SLO{Metric: metric.TransactionDuration, Expression: text, Aggregate: spec.Percentile, Quantile: p, Operator: "<", Bound: 100, Basis: basis}
}

func TestForecast(t *testing.T) {
	slos := []spec.SLO{
		percentile("p(95)<100", 0.95, ""),
		percentile("p(99.9)<100", 0.999, ""),
		percentile("p(99.9)<100 counted", 0.999, spec.Counted),
		{Metric: metric.TransactionDuration, Expression: "max<1000", Aggregate: spec.Max, Operator: "<", Bound: 1000},
	}
	for name, tt := range map[string]struct {
		scope         string
		hold, holdMax time.Duration
		past          map[string]Past
		decides       []bool
		hold999       time.Duration // hold that p99.9 would take
		longEnough    bool
	}{
		"a smoke counts":               {"smoke", time.Minute, 0, nil, []bool{true, true, true}, 0, true},
		"a short smoke":                {"smoke", 30 * time.Second, 0, nil, []bool{true, false, false}, time.Minute, true},
		"a certificate, nothing known": {"certificate", 600 * time.Second, 0, nil, []bool{true, true, true}, 0, true},
		"by what runs gave": {
			"certificate", 600 * time.Second, 0,
			map[string]Past{"transaction_duration p(99.9)<100": {Runs: 2, PerArrival: 1, DesignEffect: 28, Needed: 20_000, Correlation: 1}},
			[]bool{true, false, true},
			94 * time.Minute, true,
		},
		"a memory too long for the hold": {
			"certificate", 600 * time.Second, 0,
			map[string]Past{"transaction_duration p(99.9)<100": {Runs: 2, PerArrival: 1, DesignEffect: 2, Needed: 20_000, Correlation: 9}},
			[]bool{true, false, true},
			12 * time.Minute, false,
		},
		"by what runs gave, with a hold that goes on": {
			"certificate", 600 * time.Second, 1800 * time.Second,
			map[string]Past{"transaction_duration p(99.9)<100": {Runs: 1, PerArrival: 1, DesignEffect: 8, Needed: 20_000, Correlation: 1}},
			[]bool{true, true, true},
			0, true,
		},
	} {
		p := spec.Profile{Name: "test", Flows: []spec.Flow{{Timeout: time.Second, SLOs: slos, Load: spec.Load{
			Unit: "tps", Target: 100, Baseline: spec.Baseline{Rate: 25, For: time.Second}, Hold: tt.hold, HoldMax: tt.holdMax,
		}}}}
		pl, err := plan.New(p, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := Each(p, pl, tt.scope, tt.past)
		if len(got) != len(tt.decides) {
			t.Fatalf("%s: %d forecasts", name, len(got))
		}
		for i, want := range tt.decides {
			if got[i].Decides != want || want != (got[i].Hold == 0) {
				t.Errorf("%s: %s: %s; it would take %s", name, got[i].SLO, got[i], got[i].Hold)
			}
		}
		if got[1].Hold != tt.hold999 || got[1].LongEnough != tt.longEnough {
			t.Errorf("%s: %s would take %s; %s", name, got[1].SLO, got[1].Hold, got[1])
		}
	}
}
