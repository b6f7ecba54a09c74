package run_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/harness/hint"
	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/run"
	"assay/harness/spec"
)

// faulty is a profile of payments whose database is suspended for four seconds, by commands.
// The bounds leave room for the delays of a busy machine.
func faulty(t *testing.T, s service) (o run.Options, seen string) {
	t.Helper()
	load := quickLoad(10, 24*time.Second)
	o = s.profile(t, "payment", load)
	seen = filepath.Join(t.TempDir(), "seen")
	signal := func(name string) []string {
		return []string{"sh", "-c", fmt.Sprintf("env >>%s && kill -%s %d", seen, name, s.server.Pid())}
	}
	o.Profile.Faults = []spec.Fault{{At: 3 * time.Second, For: 4 * time.Second, Run: signal("STOP"), Undo: signal("CONT")}}
	o.Profile.SLOs = []spec.SLO{
		{Metric: metric.TransactionDuration, Expression: "p(80)<2000", Aggregate: spec.Percentile, Quantile: 0.8, Operator: "<", Bound: 2000},
		{Metric: metric.Ledger, Expression: "missing==0", Aggregate: spec.Exact, Count: "missing", Operator: "=="},
		{Metric: metric.RecoveryTime, Expression: "max<11000", Aggregate: spec.Max, Operator: "<", Bound: 11000},
		{Metric: metric.Invariants, Expression: "violated==0", Aggregate: spec.Exact, Count: "violated", Operator: "=="},
	}
	o.Profile.Invariants = []spec.Invariant{{Name: "every payment has an amount", SQL: "SELECT id FROM payments WHERE run_id = ? AND amount <= 0"}}
	return o, seen
}

// A database that is suspended for four seconds delays all payments of that time. The
// system recovers when it goes on, which the certificate states; the commands see none of
// Assay's secrets; and an invariant that does not hold is FAIL.
func TestRecoveryFromFault(t *testing.T) {
	t.Setenv("ASSAY_DB", "a secret")
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql")
		o, seen := faulty(t, s)
		r := certify(t, o)
		v := verdict.Judge(r)
		if len(v.Recoveries) != 2 {
			t.Fatalf("%+v", v.Recoveries)
		}
		if b := v.Recoveries[0].Recovered; v.Outcome == verdict.Pass && (b.Least == nil || *b.Least < 500 || *v.Recoveries[0].Scheduled == 0) {
			t.Errorf("the database was suspended for 4 s: %+v", v.Recoveries)
		}
		env, err := os.ReadFile(seen)
		if err != nil || strings.Count(string(env), "\nPATH=") != 2 || strings.Contains(string(env), "ASSAY_") {
			t.Errorf("%v; two commands should run with the environment, without Assay's variables: PATH is in it %d times", err, strings.Count(string(env), "\nPATH="))
		}
		if v.Outcome != verdict.Pass {
			return v
		}
		r.Facts.Invariants[0].Rows = 1 // judged again with another fact
		if again := verdict.Judge(r); again.Outcome != verdict.Fail {
			t.Errorf("%s: %s", again.Outcome, again.Claim)
		}
		return v
	})
}

// absent are the nodes of a stack that has only a.
type absent struct{}

func (absent) Names() []string                          { return []string{"a"} }
func (absent) Ready(string) error                       { return nil }
func (absent) Do(context.Context, string, string) error { return nil }

// A fault that the run could not inject is refused before the load.
func TestImpossibleFaults(t *testing.T) {
	o := options(t, steady(5, 20*time.Second), getScript, "http://127.0.0.1:1")
	o.Profile.Faults = []spec.Fault{{At: time.Second, Node: "b", Do: spec.DoKill}}
	for nodes, want := range map[run.Nodes]string{nil: "this run has none", absent{}: "the stack has no node b"} {
		o.FaultNodes = nodes
		if err := run.Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A run that is interrupted during a fault ends the fault, and its record says so.
func TestInterruptedDuringFault(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	seen := filepath.Join(t.TempDir(), "seen")
	note := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >>" + seen} }
	o := options(t, steady(10, 30*time.Second), getScript, server.URL)
	o.Profile.Faults = []spec.Fault{{At: time.Second, For: 15 * time.Second, Run: note("begin"), Undo: note("end")}}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(e run.Event) {
		if e.Kind == run.Step && strings.HasPrefix(e.Text, "injecting the fault") {
			time.AfterFunc(time.Second, cancel)
		}
	}
	if _, err := certifyUntil(ctx, t, o); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(seen); err != nil || string(text) != "begin\nend\n" {
		t.Errorf("%v; the commands wrote %q", err, text)
	}
	r := open(t, o)
	if len(r.Facts.Faults) != 1 || r.Facts.Faults[0].Ended.IsZero() || r.Facts.Faults[0].EndError != "" {
		t.Errorf("%+v", r.Facts.Faults)
	}
}

// A fault that cannot be injected, or not be ended, makes a run INVALID, with the reason.
func TestFaultsThatFail(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, steady(10, 20*time.Second), getScript, server.URL)
	o.Profile.Faults = []spec.Fault{
		{At: time.Second, Run: []string{"sh", "-c", "echo no such host >&2; exit 3"}},
		{At: 2 * time.Second, For: time.Second, Run: []string{"true"}, Undo: []string{"false"}},
	}
	v := verdict.Judge(certify(t, o))
	if v.Outcome != verdict.Invalid || !strings.Contains(v.Claim, "fault 1 (sh) was not injected: run sh: exit status 3: no such host") || !strings.Contains(v.Claim, "fault 2 (true) could not be ended: run false: exit status 1") {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}
