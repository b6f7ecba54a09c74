//go:build live

package run_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/wait"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
)

// A certification of the profile payment on both servers: PASS, every acknowledged
// payment is persisted once, waits are sampled, and the database is left as it was.
func TestPaymentsOnBothServers(t *testing.T) {
	t.Parallel()
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.4)
			expectPass(t, func(t *testing.T) verdict.Verdict {
				s := serve(t, flavour)
				setup, rows := s.instruments(t), s.rows(t)
				o := withMaxSLOs(s.payments(t, paymentLoad(30, 12*time.Second)))
				waitForRow := s.rowWaiter(t)
				o.Progress = func(e run.Event) {
					if enter(plan.Hold)(e) {
						waitForRow()
					}
				}
				r := certify(t, o)
				v := verdict.Judge(r)
				checkAccounted(t, r)
				l := r.Ledger
				if l == nil {
					t.Fatalf("no ledger: %s", r.Facts.Ledger.Reason)
				}
				if l.Acknowledged != r.Plan.Load.Arrivals() || l.Persisted != l.Acknowledged || l.Missing+l.Duplicated+l.Unacknowledged > 0 {
					t.Errorf("ledger of %d payments: %+v", r.Plan.Load.Arrivals(), *l)
				}
				if waits := diagnose.Of(r, v).Waits; !slices.ContainsFunc(waits, func(w certificate.Wait) bool { return w.Class == wait.RowLock && w.Samples > 0 }) {
					t.Errorf("no sample has the session that waited for a row: %+v", waits)
				}
				if after := s.instruments(t); !maps.Equal(after, setup) {
					t.Error("instruments or consumers are not as they were")
				}
				if after := s.rows(t); !maps.Equal(after, rows) {
					t.Errorf("rows are left: %v, before the run %v", after, rows)
				}
				for _, c := range r.Facts.Collectors {
					if c.State != "ok" {
						t.Errorf("collector %s: %s: %s", c.Source, c.State, c.Reason)
					}
				}
				if of := r.Environment.Service; of == nil || of.Builds[0].Metric != "assay_build_info" || of.Builds[0].Labels["goversion"] != runtime.Version() {
					t.Errorf("the service's build is %+v", of)
				}
				t.Logf("%s; %d instruments switched on; limitations: %q", v.Claim, len(r.Environment.Database.Instruments), v.Limitations)
				return v
			})
		})
	}
}
