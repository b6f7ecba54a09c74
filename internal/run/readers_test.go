//go:build long

package run_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// An SLO on replica lag passes while the replica keeps up, and fails when its applier is
// stopped in the judged window.
func TestLongReplicaLag(t *testing.T) {
	t.Parallel()
	cpus(t, 0.45)
	s := serve(t, "mysql")
	// The service has created its tables already: the replica gets them by replaying the
	// binlog from its beginning.
	replica := mysqldtest.Replica(t, s.server)
	root := mysqldtest.Open(t, replica.DSN())
	mysqldtest.Exec(t, root, "STOP REPLICA", "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=4", "START REPLICA")
	const bound = 3000
	certifyWith := func(t *testing.T, inHold func()) verdict.Verdict {
		t.Helper()
		o := withMaxSLOs(s.payments(t, quickLoad(20, 12*time.Second)))
		o.Readers = []string{replica.DSN()}
		o.Profile.Flows[0].SLOs = append(o.Profile.Flows[0].SLOs, spec.SLO{Metric: metric.ReplicaLag, Expression: "max<3000", Aggregate: spec.Max, Operator: "<", Bound: bound})
		o.Progress = func(e run.Event) {
			if enter(plan.Hold)(e) {
				inHold()
			}
		}
		r := certify(t, o)
		if len(r.Plan.Readers) != 1 || r.Plan.Readers[0] == replica.DSN() {
			t.Errorf("the plan names %q", r.Plan.Readers)
		}
		return verdict.Judge(r)
	}
	expectPass(t, func(t *testing.T) verdict.Verdict { return certifyWith(t, func() {}) })
	v := certifyWith(t, func() { mysqldtest.Exec(t, root, "STOP REPLICA SQL_THREAD") })
	if v.Outcome != verdict.Fail {
		t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
	}
	for _, slo := range v.SLOs {
		if slo.Metric == metric.ReplicaLag && (slo.Outcome != verdict.Fail || slo.Observed == nil || *slo.Observed < bound) {
			t.Errorf("%+v", slo)
		}
	}
}
