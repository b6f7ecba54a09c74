package verdict

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// The hold of faultProfile starts at holdStart, with holdFirst as its first transaction, and
// has holdRate transactions per second.
const (
	holdStart = 16 * time.Second
	holdFirst = 110
	holdRate  = 20
)

// faultProfile is a synthetic profile with one fault at 20 s of its hold of 60 s, and a limit
// on the recovery.
func faultProfile(limit time.Duration, ends bool) spec.Profile {
	p := synthetic.Profile()
	p.Flows[0].Load.Hold = 60 * time.Second
	f := spec.Fault{At: 20 * time.Second, Node: "b", Do: spec.DoKill}
	if ends {
		f.For = 15 * time.Second
	}
	p.Faults = []spec.Fault{f}
	p.Flows[0].SLOs = append(p.Flows[0].SLOs[:2:2], p.Flows[0].SLOs[5], spec.SLO{
		Metric: metric.RecoveryTime, Expression: "max<" + limit.String(), Aggregate: spec.Max, Operator: "<", Bound: float64(limit / time.Millisecond),
	})
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Profile().Flows[0].SLOs[2:5]...)
	return p
}

// outages is a system that completes nothing that arrives in the given spans of the hold, in
// seconds.
func outages(spans ...[2]float64) synthetic.System {
	return func(n int64) (float64, string) {
		at := (float64(n) - holdFirst) / holdRate
		for _, s := range spans {
			if s[0] <= at && at < s[1] {
				return 5, metric.Failed
			}
		}
		return synthetic.Healthy(n)
	}
}

// underFaults is a run of a profile with faults, which began and ended at these times of the
// hold, in seconds.
func underFaults(p spec.Profile, system synthetic.System, at, end float64) *synthetic.Case {
	c := synthetic.New(p, 1, system)
	clock := func(s float64) time.Time {
		return synthetic.T0.Add(holdStart + time.Duration(s*float64(time.Second)))
	}
	fact := record.Fault{At: clock(at)}
	if end > 0 {
		fact.Ended = clock(end)
	}
	c.Run.Facts.Faults = []record.Fault{fact}
	return c
}

func sloOn(t interface {
	Helper()
	Fatalf(string, ...any)
}, v Verdict, name string,
) SLO {
	t.Helper()
	for _, s := range v.SLOs {
		if s.Metric == name {
			return s
		}
	}
	t.Fatalf("no SLO on %s", name)
	return SLO{}
}

// A run passes if the system recovers in time, although more transactions failed during the
// recovery than the other SLOs allow; they judge the rest.
func TestRecoveredInTime(t *testing.T) {
	p := faultProfile(10*time.Second, true)
	v := Judge(underFaults(p, outages([2]float64{20.3, 26.5}), 20.25, 35.5).Record())
	if v.Outcome != Pass {
		t.Fatalf("%s: %s", v.Outcome, v.Claim)
	}
	s := sloOn(t, v, metric.RecoveryTime)
	if s.Observed == nil || *s.Observed < 6250 || *s.Observed > 7250 {
		t.Errorf("the outage ended 6.25 s after the fault: %+v", s)
	}
	// The outage of 6.2 s covers the seconds 21 to 25 of the hold.
	if f := v.Recoveries[0].FirstSuccessMs; f.Least == nil || *f.Least != 5750 || *f.Most != 6750 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(v.Claim, "per second for 60 s (52 s of them outside of recoveries) within all") {
		t.Error(v.Claim)
	}
	if !strings.Contains(v.Claim, "under faults: kill b: recovered within 6.75 s; the end of kill b: recovered within 0 s") {
		t.Error(v.Claim)
	}
	if len(v.Recoveries) != 2 || *v.Recoveries[0].NotCompleted != 124 || *v.Recoveries[1].NotCompleted != 0 {
		t.Errorf("%+v", v.Recoveries)
	}
	if text := strings.Join(v.Limitations, "\n"); !strings.Contains(text, "left out: recoveries in judged windows, which no SLO on transactions and requests judges but those on recovery_time: 8 s, 160 transactions, 124 failed") || strings.Contains(text, "is killed was not tested") {
		t.Error(text)
	}
}

// A recovery that takes too long, or does not come, is FAIL.
func TestNotRecoveredInTime(t *testing.T) {
	for name, system := range map[string]synthetic.System{
		"too slow": outages([2]float64{20.3, 31.5}),
		"never":    outages([2]float64{20.3, 1000}),
		// The system works again after the kill, and not when the node comes back.
		"not from the end": outages([2]float64{20.3, 22}, [2]float64{35.5, 47}),
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(underFaults(faultProfile(10*time.Second, true), system, 20.25, 35.5).Record())
			if s := sloOn(t, v, metric.RecoveryTime); v.Outcome != Fail || s.Outcome != Fail {
				t.Errorf("%s, %+v: %s", v.Outcome, s, v.Claim)
			}
		})
	}
}

// A second after the recovery counts for the other SLOs, too.
func TestFailureAfterRecovery(t *testing.T) {
	system := outages([2]float64{20.3, 22}, [2]float64{45, 53})
	v := Judge(underFaults(faultProfile(36*time.Second, false), system, 20.25, 0).Record())
	if s := sloOn(t, v, metric.RecoveryTime); v.Outcome != Fail || s.Outcome != Pass {
		t.Errorf("%s, %+v: %s", v.Outcome, s, v.Claim)
	}
}

// What is left of a window before and after a recovery is judged, however short it is.
func TestShortRestIsJudged(t *testing.T) {
	p := faultProfile(10*time.Second, true)
	p.Faults[0].For = 31500 * time.Millisecond
	system := outages([2]float64{20.3, 22}, [2]float64{55, 60})
	if v := Judge(underFaults(p, system, 20.25, 45.5).Record()); v.Outcome != Fail {
		t.Errorf("%s: the last five seconds of the window were an outage: %s", v.Outcome, v.Claim)
	}
	p.Faults[0].At, p.Faults[0].For = 5*time.Second, 0
	if v := Judge(underFaults(p, outages([2]float64{0, 3}), 5.25, 0).Record()); v.Outcome != Fail {
		t.Errorf("%s: the first three seconds of the window were an outage: %s", v.Outcome, v.Claim)
	}
}

// A fault may take effect later than it was begun: as long as what injects it has not
// returned, its outage is a recovery, and not after that.
func TestLateEffect(t *testing.T) {
	for done, want := range map[float64]Outcome{0: Fail, 32: Pass} {
		c := underFaults(faultProfile(20*time.Second, false), outages([2]float64{32.3, 36}), 20.25, 0)
		if done > 0 {
			c.Run.Facts.Faults[0].Done = synthetic.T0.Add(holdStart + time.Duration(done*float64(time.Second)))
		}
		if v := Judge(c.Record()); v.Outcome != want {
			t.Errorf("returned at %g s: %s, want %s: %s", done, v.Outcome, want, v.Claim)
		}
	}
}

// The end of a fault that takes longer than the load shows nothing; but the recovery from the
// fault itself may have taken too long already.
func TestEndOutlastsLoad(t *testing.T) {
	for _, c := range []struct {
		system synthetic.System
		want   Outcome
		claim  string
	}{
		{synthetic.Healthy, Invalid, "no data for recovery_time max<10s; the load ended too early to show the effect of the end of kill b"},
		{outages([2]float64{20.3, 26.5}), Invalid, "kill b: recovered within 6.75 s; the end of kill b: the load ended too early to show its effect"},
		{outages([2]float64{20.3, 31.5}), Fail, "the end of kill b: the load ended too early to show its effect"},
		{outages([2]float64{20.3, 1000}), Fail, "the end of kill b: the load ended too early to show its effect"},
	} {
		r := underFaults(faultProfile(10*time.Second, true), c.system, 20.25, 35.5)
		r.Run.Facts.Faults[0].EndDone = synthetic.T0.Add(holdStart + 70*time.Second)
		v := Judge(r.Record())
		if v.Outcome != c.want || !strings.Contains(v.Claim, c.claim) {
			t.Errorf("%s, want %s: %s", v.Outcome, c.want, v.Claim)
		}
		if end := v.Recoveries[1]; end.Scheduled != nil || end.NotCompleted != nil {
			t.Errorf("%+v: the load showed nothing of the end", end)
		}
		if s := sloOn(t, v, metric.RecoveryTime); c.want == Fail && (s.Outcome != Fail || s.ObservedAtLeast == nil || *s.ObservedAtLeast < 10_000) {
			t.Errorf("%+v", s)
		}
	}
}

// Without a limit on the recovery the other SLOs must hold through the fault.
func TestFaultWithoutRecoverySLO(t *testing.T) {
	p := faultProfile(10*time.Second, false)
	p.Flows[0].SLOs = append(p.Flows[0].SLOs[:3:3], p.Flows[0].SLOs[4:]...)
	v := Judge(underFaults(p, outages([2]float64{20.3, 26.5}), 20.25, 0).Record())
	if v.Outcome != Fail {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}

// A fault that was not injected, or not ended, makes a run INVALID.
func TestFaultNotInjected(t *testing.T) {
	for want, change := range map[string]func(*record.Fault){
		"fault 1 (kill b) was not injected: no such process":  func(f *record.Fault) { *f = record.Fault{Error: "no such process"} },
		"fault 1 (kill b) could not be ended: it hangs":       func(f *record.Fault) { f.EndError = "it hangs" },
		"fault 1 (kill b) was not injected: no reason given":  func(f *record.Fault) { *f = record.Fault{} },
		"fault 1 (kill b) was not injected: it does not work": func(f *record.Fault) { f.Error = "it does not work" },
	} {
		c := underFaults(faultProfile(10*time.Second, true), synthetic.Healthy, 20.25, 35.5)
		change(&c.Run.Facts.Faults[0])
		if v := Judge(c.Record()); v.Outcome != Invalid || !strings.Contains(v.Claim, want) {
			t.Errorf("%s: %s, want %s", v.Outcome, v.Claim, want)
		}
	}
}

// The true time of the recovery lies between the two bounds, for an outage of any length
// from any moment on; and the outcome is never wrong.
func TestRecoveryBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Float64Range(20, 22).Draw(t, "at")
		delay := rapid.Float64Range(0, 1).Draw(t, "delay")
		length := rapid.Float64Range(0.5, 25).Draw(t, "length")
		limit := rapid.IntRange(2, 25).Draw(t, "limit")
		end := at + delay + length
		v := Judge(underFaults(faultProfile(time.Duration(limit)*time.Second, false), outages([2]float64{at + delay, end}), at, 0).Record())
		r := v.Recoveries[0].RecoveryMs
		// Arrivals are 50 ms apart, and one of a second's twenty may fail by chance.
		const tolerance = 100
		if truth := (end - at) * 1000; r.Least == nil || r.Most == nil || *r.Least > truth || *r.Most < truth-tolerance || *r.Most-*r.Least > 1001 {
			t.Fatalf("recovery between %g and %g ms, in truth %g", *r.Least, *r.Most, truth)
		}
		s := sloOn(t, v, metric.RecoveryTime)
		switch truth := (end - at); {
		case s.Outcome == Pass && truth-0.1 > float64(limit), s.Outcome == Fail && truth < float64(limit):
			t.Fatalf("%s with a recovery after %g s and a limit of %d s", s.Outcome, truth, limit)
		}
	})
}

// An invariant that does not hold is FAIL; one that was not checked is INVALID.
func TestInvariants(t *testing.T) {
	p := synthetic.Profile()
	p.Invariants = []spec.Invariant{{Name: "debits equal credits", SQL: "SELECT 1"}, {Name: "no negative balance", SQL: "SELECT 2"}}
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, spec.SLO{Metric: metric.Invariants, Expression: "violated==0", Aggregate: spec.Exact, Count: "violated", Operator: "=="})
	for name, c := range map[string]struct {
		facts []record.Invariant
		want  Outcome
		claim string
	}{
		"hold":        {[]record.Invariant{{}, {}}, Pass, "sustained"},
		"violated":    {[]record.Invariant{{}, {Rows: 3}}, Fail, "invariants missed violated==0, 1 observed"},
		"not checked": {[]record.Invariant{{}, {Error: "no such table"}}, Invalid, `the invariant "no negative balance" was not checked: no such table`},
		"both":        {[]record.Invariant{{Rows: 1}, {Error: "no such table"}}, Fail, "invariants missed violated==0"},
		"none":        {nil, Invalid, "was not checked"},
	} {
		run := synthetic.New(p, 1, synthetic.Healthy)
		run.Run.Facts.Invariants = c.facts
		if v := Judge(run.Record()); v.Outcome != c.want || !strings.Contains(v.Claim, c.claim) {
			t.Errorf("%s: %s, want %s: %s", name, v.Outcome, c.want, v.Claim)
		}
	}
}
