package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// A quiet window must not hide a broken one, in latency or in throughput; and each of
// many short windows can still fail.
func TestWindowsByThemselves(t *testing.T) {
	stages := func(all ...spec.Stage) spec.Profile {
		p := synthetic.Profile()
		p.Flows[0].Load = spec.Load{Unit: "tps", Stages: all}
		p.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 90, 250)}
		return p
	}
	quiet := spec.Stage{Rate: 20, For: 200 * time.Second, Judge: true}
	spike := spec.Stage{Rate: 100, For: 30 * time.Second, Judge: true}
	after := func(first int64, bad func(n int64) (float64, string)) synthetic.System {
		return func(n int64) (float64, string) {
			if n > first {
				return bad(n)
			}
			return 20 + float64(n%60), metric.Completed
		}
	}
	slow := func(n int64) (float64, string) { return 20 + float64(n%5/3)*400, metric.Completed } // 40 % of them
	failing := func(n int64) (float64, string) {
		return 20, map[bool]string{true: metric.Failed, false: metric.Completed}[n%30 == 0]
	}
	for name, tt := range map[string]struct {
		profile spec.Profile
		system  synthetic.System
		slo     string
	}{
		"a slow spike":    {stages(quiet, quiet, quiet, spike), after(12_000, slow), "transaction_duration:p(90)<250"},
		"a failing spike": {stages(quiet, quiet, quiet, spike), after(12_000, failing), "throughput:completed/scheduled>=0.99"},
		"many short ones": {
			stages(slices.Repeat([]spec.Stage{{Rate: 50, For: 10 * time.Second, Judge: true}, {Rate: 20, For: 2 * time.Second}}, 15)...),
			func(n int64) (float64, string) { return 20 + float64(n%2)*400, metric.Completed }, "transaction_duration:p(90)<250",
		},
	} {
		v := Judge(synthetic.New(tt.profile, 1, tt.system).Record())
		s := sloOf(t, v, tt.slo)
		if pooled := name == "many short ones"; (s.FailedWindow == nil) != pooled || !pooled && (*s.FailedWindow != 4 || !strings.Contains(v.Claim, "in window 4 of 4")) {
			t.Errorf("%s: %s", name, v.Claim)
		}
		if s.Outcome != Fail || v.Outcome != Fail {
			t.Errorf("%s: %s is %v, observed %g; %s", name, tt.slo, s.Outcome, *s.Observed, v.Claim)
		}
	}
	v := Judge(synthetic.New(stages(quiet, spike), 1, synthetic.Healthy).Record())
	if !strings.Contains(v.Claim, "sustained 20 to 100 transactions per second for 230 s in 2 windows") {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}

// Time below the target does not make a certificate.
func TestACertificateHoldsItsTarget(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 10, For: 570 * time.Second, Judge: true}, {Rate: 20, For: 30 * time.Second, Judge: true},
	}}
	c := synthetic.New(p, 1, synthetic.Healthy)
	c.Run.Plan.Scope = "certificate"
	if r := ruleOf(t, Judge(c.Record()), "window"); r.Outcome != Invalid || r.Detail != "600 s judged, 30 s of it at the target rate, too short for a certificate" {
		t.Errorf("%v: %s", r.Outcome, r.Detail)
	}
}

// Rules that the profile relaxes are limitations.
func TestLoosenedRules(t *testing.T) {
	c := healthy()
	edit(c, "worker/1", metric.WorkerCPU, times(4))
	all := 1.0
	c.Run.Plan.Profile.Rules.GeneratorCPU = &all
	v := Judge(c.Record())
	if want := "the profile relaxes rule generator-cpu to 100 % (default: 80 %)"; v.Outcome != Pass || !slices.Contains(v.Limitations, want) {
		t.Errorf("%v; %q", v.Outcome, v.Limitations)
	}
}

// A percentile with many nines is not decided by a few hundred samples.
func TestManyNines(t *testing.T) {
	c := healthy()
	c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{{
		Metric: metric.TransactionDuration, Expression: "p(99.99999999)<9000", Aggregate: spec.Percentile,
		Quantile: 0.9999999999, Operator: "<", Bound: 9000,
	}}
	if v := Judge(c.Record()); v.Outcome != Inconclusive {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}
