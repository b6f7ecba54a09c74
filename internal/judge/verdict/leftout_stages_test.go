package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// staged is a profile with these stages, at 10 to 30 transactions per second.
func staged(stages ...spec.Stage) spec.Profile {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: stages}
	p.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 250)}
	return p
}

// failingIn is a system that fails all that arrives from one second up to another.
func failingIn(p spec.Profile, from, to int, how string, ms float64) synthetic.System {
	in := arrivingIn(p, func(second int) bool { return second >= from && second < to })
	return func(n int64) (float64, string) {
		if slow, _ := in(n); slow > 250 {
			return ms, how
		}
		return 20, metric.Completed
	}
}

// A stage that no window judges is listed, with its transactions and failures; the claim mentions it
// where it breaks an SLO.
func TestUnjudgedStages(t *testing.T) {
	p := staged(
		spec.Stage{Rate: 10, For: 10 * time.Second},
		spec.Stage{Rate: 20, Ramp: 10 * time.Second, For: 20 * time.Second, Judge: true},
		spec.Stage{Rate: 20, For: 20 * time.Second},
	)
	for name, tt := range map[string]struct {
		system synthetic.System
		claim  string // empty: it mentions nothing that is left out
		stage  string // of the list
	}{
		"fails":               {failingIn(p, 40, 60, metric.Failed, 5), "stage 4 of 4 (cool-down at 20/s), which breaks throughput: 20 s, 400 transactions, 400 failed", ""},
		"times out":           {failingIn(p, 50, 60, metric.TimedOut, 10_000), "20 s, 400 transactions, 200 failed", ""},
		"slow":                {failingIn(p, 40, 60, metric.Completed, 900), "which breaks transaction_duration p(95)<250: 20 s, 400 transactions, 0 failed", ""},
		"slow while cold":     {failingIn(p, 0, 10, metric.Completed, 900), "", "stage 1 of 4 (baseline at 10/s): 10 s, 100 transactions, 0 failed"},
		"fails while cold":    {failingIn(p, 0, 10, metric.Failed, 9), "stage 1 of 4 (baseline at 10/s), which breaks throughput", ""},
		"fails in the ramp":   {failingIn(p, 10, 20, metric.Failed, 9), "stage 2 of 4 (ramp from 10 to 20/s), which breaks throughput: 10 s, 150 transactions, 150 failed", ""},
		"healthy all the way": {synthetic.Healthy, "", "stage 4 of 4 (cool-down at 20/s): 20 s, 400 transactions, 0 failed"},
	} {
		v := Judge(synthetic.New(p, 1, tt.system).Record())
		if v.Outcome != Pass || (tt.claim == "") == strings.Contains(v.Claim, "left out") || !strings.Contains(v.Claim, tt.claim) {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Claim)
		}
		if list := fmt.Sprint(v.LeftOut); !strings.Contains(list, tt.stage) {
			t.Errorf("%s: %s", name, list)
		}
	}
}

// A few transactions that are slow or fail by chance are no news: those of stages that nothing judges, or
// of endpoints.
func TestChanceDoesNotWeigh(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 1, For: 5 * time.Second},
		{Rate: 2, For: 60 * time.Second, Judge: true},
		{Rate: 1, Ramp: 5 * time.Second, For: 5 * time.Second},
		{Rate: 2, Ramp: 5 * time.Second, For: 20 * time.Second, Judge: true},
	}}
	p.Flows[0].SLOs = []spec.SLO{
		synthetic.Percentile(metric.TransactionDuration, 99, 250),
		{Metric: metric.RequestFailed, Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01},
	}
	for every, want := range map[int64]bool{150: false, 3: true} { // of the transactions, 1 in 150 is bad
		mentioned := false
		for first := range every {
			v := Judge(synthetic.New(p, 1, func(n int64) (float64, string) {
				switch {
				case n%every != first:
					return 20, metric.Completed
				case n%2 == 0:
					return 20, metric.Failed
				}
				return 400, metric.Completed
			}).Record())
			for _, o := range v.LeftOut {
				if mentioned = mentioned || o.Weighs; o.Weighs && !want {
					t.Errorf("1 in %d, from %d on: %s", every, first, o)
				}
			}
		}
		if mentioned != want {
			t.Errorf("1 in %d: mentioned: %t", every, mentioned)
		}
	}
}

// A stage above every judged rate must be judged, or be an overload.
func TestUnjudgedPeak(t *testing.T) {
	peak := spec.Stage{Rate: 21, For: 20 * time.Second}
	judged := spec.Stage{Rate: 20, For: 20 * time.Second, Judge: true}
	for want, stages := range map[string][]spec.Stage{
		"stage 1 of 2 (baseline at 21/s) is above every judged rate, and nothing judges it":  {peak, judged},
		"stage 2 of 2 (cool-down at 21/s) is above every judged rate, and nothing judges it": {judged, peak},
	} {
		v := Judge(synthetic.New(staged(stages...), 1, synthetic.Healthy).Record())
		if v.Outcome != Invalid || !strings.Contains(v.Claim, want) {
			t.Errorf("%s: %s", v.Outcome, v.Claim)
		}
	}
	over := peak
	over.Overload = true
	p := staged(judged, over)
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, spec.SLO{Metric: metric.Goodput, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9})
	if v := Judge(synthetic.New(p, 1, synthetic.Healthy).Record()); v.Outcome != Pass {
		t.Errorf("an overload: %s: %s", v.Outcome, v.Claim)
	}
	if v := Judge(synthetic.New(staged(judged, peak), 1, func(int64) (float64, string) { return 900, metric.Completed }).Record()); v.Outcome != Fail {
		t.Errorf("a failure of the judged rate stays one: %s: %s", v.Outcome, v.Claim)
	}
}

// The time of a certificate is the time that its SLOs judge: not that in which the system may
// still recover.
func TestWindowCountsJudgedSeconds(t *testing.T) {
	p := overloadProfile(20*time.Second, 590*time.Second, "0.9")
	p.Flows[0].Load = spec.Load{Unit: "tps", Target: 5, Baseline: spec.Baseline{Rate: 2, For: 10 * time.Second}, Hold: 600 * time.Second}
	scale := p.Flows[0].SLOs[2]
	p.Flows[0].SLOs = []spec.SLO{p.Flows[0].SLOs[0], scale}
	for slow, want := range map[int]struct {
		outcome Outcome
		judged  float64
		text    string
	}{
		0:   {Pass, 600, "600 s judged"},
		10:  {Invalid, 590, "590 s judged, without 10 s of recoveries, too short for a certificate"},
		580: {Invalid, 20, "20 s judged, without 580 s of recoveries, too short for a certificate"},
		600: {Fail, 10, "too short for a certificate"},
	} {
		c := synthetic.New(p, 1, arrivingIn(p, func(second int) bool { return second >= 10 && second < 10+slow }))
		c.Run.Plan.Scope = spec.ScopeCertificate
		v := Judge(c.Record())
		r := ruleOf(t, v, "window")
		if v.Outcome == Inconclusive && want.outcome == Pass { // what is inferred from so few is not the subject
			v.Outcome = Pass
		}
		if v.Outcome != want.outcome || *r.Observed != want.judged || !strings.Contains(r.Detail, want.text) {
			t.Errorf("slow for %d s: %s, %g s, %s; %s", slow, v.Outcome, *r.Observed, r.Detail, v.Claim)
		}
		if slow == 580 && !strings.Contains(r.Advice, "at least 1180 s") {
			t.Error(r.Advice)
		}
	}
}

// What arrives after the look that decides a run is listed too.
func TestAfterTheLook(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].Load.HoldMax = 2 * p.Flows[0].Load.Hold
	c := synthetic.New(p, 1, synthetic.Healthy)
	c.Run.Facts.Look = 1
	r := c.Record()
	r.Plan.Load = r.Plan.Load.At(1)
	v := Judge(r)
	i := len(v.LeftOut) - 1
	if i < 0 || v.LeftOut[i].What != "after the load that is judged" || *v.LeftOut[i].Transactions < 600 {
		t.Errorf("%+v", v.LeftOut)
	}
}
