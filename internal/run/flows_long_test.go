//go:build long

package run_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Each flow has a ledger of its own, on a real database. What one of them loses is FAIL, and
// counted for that flow alone.
func TestLongFlowsHaveTheirOwnLedgers(t *testing.T) {
	t.Parallel()
	cpus(t, 0.55)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql")
		o := s.profile(t, "event", spec.Load{})
		o.Profile.Stubs = nil // the service has a gateway of its own
		zero := func(count string) spec.SLO {
			return spec.SLO{Metric: metric.Ledger, Expression: count + "==0", Aggregate: spec.Exact, Count: count, Operator: "=="}
		}
		var flows []spec.Flow
		for i, f := range o.Profile.Flows {
			f.Load = stages(spec.Stage{Rate: 5, For: time.Second}, spec.Stage{Rate: float64(10 * (i + 1)), For: 12 * time.Second, Judge: true}, spec.Stage{Rate: 5, For: time.Second})
			f.SLOs = []spec.SLO{below(50, 3000)}
			if f.Ledger != nil {
				f.SLOs = append(f.SLOs, zero("missing"), zero("duplicated"))
			}
			flows = append(flows, f)
		}
		o = withFlows(t, o, nil, flows...)
		o.Workers = 2
		r := certify(t, o)
		v := verdict.Judge(r)
		for _, f := range v.Flows {
			if (f.Ledger == nil) != (f.Name == "receipts") {
				t.Errorf("%s: ledger %+v", f.Name, f.Ledger)
			}
		}
		if v.Outcome != verdict.Pass {
			return v
		}
		// Every event is acknowledged, and nearly every payment; the transactions of the
		// whole run count.
		viewers, payments := r.PerFlow()[0], r.PerFlow()[2]
		if n := viewers.Plan.Load.Arrivals(); viewers.Ledger.Acknowledged != n || viewers.Ledger.Persisted != n || viewers.Ledger.Missing != 0 {
			t.Errorf("%d viewers: %+v", n, viewers.Ledger)
		}
		if n := payments.Plan.Load.Arrivals(); payments.Ledger.Acknowledged > n || payments.Ledger.Acknowledged < n*9/10 || payments.Ledger.Missing != 0 {
			t.Errorf("%d payments: %+v", n, payments.Ledger)
		}
		lost := payments.Ledger // shares the record's comparison
		lost.Missing = 3
		r.Ledger.Flows[2], r.Ledger.Missing = *lost, 3
		if again := verdict.Judge(r); again.Outcome != verdict.LostWrite || again.Flows[2].Outcome != verdict.LostWrite || again.Flows[0].Outcome != verdict.Pass {
			t.Errorf("%s: %s", again.Outcome, again.Claim)
		}
		return v
	})
}
