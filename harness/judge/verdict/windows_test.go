package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// What is claimed at a stated confidence is what calibration has looked at.
func TestConfidence(t *testing.T) {
	for name, tt := range map[string]struct {
		hold   time.Duration
		slos   []spec.SLO
		stated bool
		why    string
	}{
		"a minute of p95":  {time.Minute, []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 2000)}, true, ""},
		"less":             {59 * time.Second, []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 2000)}, false, "the confidence of a verdict on less than 60 s is not known"},
		"a rate below 5 %": {time.Minute, []spec.SLO{{Metric: requestFailed, Expression: "rate<0.05", Aggregate: spec.Rate, Operator: "<", Bound: 0.05}}, true, ""},
		"a rate over 95 %": {time.Minute, []spec.SLO{{Metric: requestFailed, Expression: "rate>=0", Aggregate: spec.Rate, Operator: ">=", Bound: 0.95}}, true, ""},
		"p90": {
			time.Minute,
			[]spec.SLO{synthetic.Percentile(metric.TransactionDuration, 90, 2000)},
			false,
			"the confidence of a verdict on transaction_duration p(90)<2000, which lets more than 5 % violate it, is not known",
		},
		"nothing tested": {time.Minute, []spec.SLO{{Metric: metric.TransactionDuration, Expression: "max<5000", Aggregate: spec.Max, Operator: "<", Bound: 5000}}, false, ""},
	} {
		p := synthetic.Profile()
		p.Load.Hold, p.SLOs = tt.hold, tt.slos
		v := Judge(synthetic.New(p, 1, synthetic.Healthy).Record())
		if strings.Contains(v.Claim, "at 95 % confidence") != (tt.stated && v.Outcome == Pass) || tt.stated && name != "a rate over 95 %" && v.Outcome != Pass {
			t.Errorf("%s: %s", name, v.Claim)
		}
		if said := slices.Contains(v.Limitations, tt.why); said != (tt.why != "") {
			t.Errorf("%s: %q", name, v.Limitations)
		}
	}
}

// A quiet stretch must not hide the window that mattered, in latency or in
// throughput; and of many short windows each can still fail.
func TestWindowsByThemselves(t *testing.T) {
	stages := func(all ...spec.Stage) spec.Profile {
		p := synthetic.Profile()
		p.Load = spec.Load{Unit: "tps", Stages: all}
		p.SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 90, 250)}
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
	if !strings.Contains(v.Claim, "sustained 20 to 100 transactions a second for 230 s in 2 windows") {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}

// Time below the target does not make a certificate.
func TestACertificateHoldsItsTarget(t *testing.T) {
	p := synthetic.Profile()
	p.Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 10, For: 570 * time.Second, Judge: true}, {Rate: 20, For: 30 * time.Second, Judge: true},
	}}
	c := synthetic.New(p, 1, synthetic.Healthy)
	c.Run.Plan.Scope = "certificate"
	if r := ruleOf(t, Judge(c.Record()), "window"); r.Outcome != Invalid || r.Detail != "600 s judged, 30 s of them at the target, too short for a certificate" {
		t.Errorf("%v: %s", r.Outcome, r.Detail)
	}
}

// What the profile lets pass beyond the rulebook is said.
func TestLoosenedRules(t *testing.T) {
	c := healthy()
	edit(c, "worker/1", metric.WorkerCPU, times(4))
	all := 1.0
	c.Run.Plan.Profile.Rules.GeneratorCPU = &all
	v := Judge(c.Record())
	if want := "the profile lets rule generator-cpu go to 100 %, instead of 80 %"; v.Outcome != Pass || !slices.Contains(v.Limitations, want) {
		t.Errorf("%v; %q", v.Outcome, v.Limitations)
	}
}

// A percentile that allows next to nothing is not decided by a few hundred
// samples, however many nines it has.
func TestManyNines(t *testing.T) {
	c := healthy()
	c.Run.Plan.Profile.SLOs = []spec.SLO{{
		Metric: metric.TransactionDuration, Expression: "p(99.99999999)<9000", Aggregate: spec.Percentile,
		Quantile: 0.9999999999, Operator: "<", Bound: 9000,
	}}
	if v := Judge(c.Record()); v.Outcome != Inconclusive {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}
