//go:build long

package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
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
	o.Profile.Flows[0].SLOs = []spec.SLO{
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
func TestLongRecoveryFromFault(t *testing.T) {
	cpus(t, 0.3)
	t.Setenv("ASSAY_DB", "a secret")
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql")
		o, seen := faulty(t, s)
		r := certify(t, o)
		v := verdict.Judge(r)
		if len(v.Recoveries) != 2 {
			t.Fatalf("%+v", v.Recoveries)
		}
		if b := v.Recoveries[0].RecoveryMs; v.Outcome == verdict.Pass && (b.Least == nil || *b.Least < 500 || *v.Recoveries[0].Scheduled == 0) {
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
