package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

func ruleOf(t *testing.T, v Verdict, id string) Rule {
	t.Helper()
	for _, r := range v.Rules {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("no rule %s", id)
	return Rule{}
}

func sloOf(t *testing.T, v Verdict, id string) SLO {
	t.Helper()
	for _, s := range v.SLOs {
		if s.Metric+":"+s.Expression == id {
			return s
		}
	}
	t.Fatalf("no SLO %s", id)
	return SLO{}
}

func healthy() *synthetic.Case { return synthetic.New(synthetic.Profile(), 2, synthetic.Healthy) }

func TestHealthySystemPasses(t *testing.T) {
	v := Judge(healthy().Record())
	if v.Outcome != Pass {
		t.Fatalf("%v: %s", v.Outcome, v.Claim)
	}
	const claim = "synthetic sustained 20 transactions per second for 30 s within all 8 SLOs, in this run " +
		"(smoke scope; generator, service and database on one host)."
	if v.Claim != claim {
		t.Errorf("claim: %s", v.Claim)
	}
	for _, r := range v.Rules {
		if r.Outcome != Pass || r.Detail == "" || r.Advice == "" {
			t.Errorf("rule %+v", r)
		}
	}
	wantRate := Rate{Unit: "tps", Target: 20, Lowest: 20, Achieved: new(20.0), Scheduled: new(int64(600)), Completed: new(int64(600)), Dropped: new(int64(0))}
	wantWindow := Window{Start: synthetic.T0.Add(16 * time.Second), End: synthetic.T0.Add(46 * time.Second), Seconds: 30, Count: 1}
	if diff := cmp.Diff(wantRate, v.Rate) + cmp.Diff(wantWindow, v.Window); diff != "" {
		t.Error(diff)
	}
	if len(v.Latency) != 2 || v.Latency["transaction"].Count != 600 || v.Latency["pay"].Count == 0 {
		t.Errorf("latency: %+v", v.Latency)
	}
	if *v.Generator.FramesExpected != v.Generator.FramesReceived || v.Generator.FramesReceived != 2*48 {
		t.Errorf("generator: %+v", v.Generator)
	}
}

// Missing data are nil or INVALID, and nothing panics.
func TestEmptyRecordIsInvalid(t *testing.T) {
	for name, r := range map[string]record.Run{
		"nothing":   {},
		"plan only": {Plan: healthy().Run.Plan},
		"no frames": healthy().Run,
	} {
		v := Judge(r)
		if v.Outcome != Invalid {
			t.Errorf("%s: %v", name, v.Outcome)
		}
		if v.Rate.Achieved != nil || v.Rate.Scheduled != nil || v.Outcomes.Completed != nil ||
			v.Latency[TransactionName].P50 != nil || v.Generator.CPUShare != nil || v.Generator.FramesExpected != nil {
			t.Errorf("%s: no data became a number: %+v", name, v)
		}
		if ruleOf(t, v, "data").Outcome != Invalid {
			t.Errorf("%s: %+v", name, ruleOf(t, v, "data"))
		}
	}
}

func TestLostWriteFailsWhateverElse(t *testing.T) {
	c := healthy()
	c.Run.Ledger.Missing = 2
	c.Run.Facts.Interrupted, c.Run.Facts.Stopped = true, "interrupted"
	c.Run.Facts.Ended = synthetic.T0.Add(time.Second)
	c.Run.Plan.Profile.Flows[0].SLOs = nil // also of a profile that does not ask
	v := Judge(c.Record())
	if v.Outcome != LostWrite || !strings.HasPrefix(v.Claim, "synthetic lost 2 of 750 acknowledged transactions") {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}

func TestLimitations(t *testing.T) {
	c := healthy()
	c.Run.Environment.CoLocation = nil
	c.Run.Plan.Tool.Dirty = true
	c.Run.Plan.Overrides = map[string]string{"rate": "20", "hold": "30s"}
	c.Run.Plan.Database = ""
	c.Run.Facts.Collectors[1] = record.Collect{Source: "service", State: "absent", Reason: "no metrics endpoint"}
	c.Run.Facts.Limitations = []string{"as the run saw it"}
	v := Judge(c.Record())
	want := []string{
		"smoke scope: 30 s judged, a certificate needs 600 s",
		"windows under 40 s are too short to detect a latency drift",
		"no database was given: there are no waits, and the bottleneck is undetermined",
		"the binary was built from changed or unknown sources",
		"the command line set hold to 30s",
		"the command line set rate to 20",
		"service was not observed (no metrics endpoint)",
		"durability when a process or host is killed was not tested",
		"a smoke describes this run only: another run may differ",
		"as the run saw it",
	}
	if diff := cmp.Diff(want, v.Limitations); v.Outcome != Pass || diff != "" {
		t.Errorf("%v (-want +got):\n%s", v.Outcome, diff)
	}
	if !strings.HasSuffix(v.Claim, "(smoke scope).") {
		t.Errorf("claim: %s", v.Claim)
	}
}

func TestClaimOfEachOutcome(t *testing.T) {
	slow := func(n int64) (float64, string) {
		ms, outcome := synthetic.Healthy(n)
		return ms * 3, outcome
	}
	const where = " (smoke scope; generator, service and database on one host)."
	failing := synthetic.New(synthetic.Profile(), 1, slow)
	interrupted := healthy()
	interrupted.Run.Facts.Stopped, interrupted.Run.Facts.Ended = "interrupted", synthetic.T0.Add(26*time.Second)
	undecided := healthy()
	undecided.Run.Plan.Profile.Flows[0].SLOs = append(undecided.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile("http_req_duration", 50, 70))
	for want, c := range map[string]*synthetic.Case{
		"synthetic did not sustain 20 transactions per second for 30 s: http_req_duration{name:pay} missed p(95)<250, " +
			"348 ms observed, 228 of 600 violate it, 30 allowed; 1 more SLO is broken": failing,
		"synthetic cannot be judged: the run ended after 10 of the 30 judged seconds: interrupted": interrupted,
		"This run does not show whether synthetic sustains 20 transactions per second for 30 s: " +
			"http_req_duration p(50)<70 has between 300 and 306 violations of 600 samples, 300 allowed: too close to the limit to call": undecided,
	} {
		if got := Judge(c.Record()).Claim; got != want+where {
			t.Errorf("claim is\n%s, want\n%s", got, want+where)
		}
	}
}
