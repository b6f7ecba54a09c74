//go:build long

package run_test

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/processtest"
)

// When the database is killed or suspended mid-run, the run ends by itself with a sealed
// record, and never with PASS, whether the service fails at once or hangs.
func TestLongDatabaseOutage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		outage func(*mysqld.Server) error
		hangs  bool     // the service stops responding
		ends   []string // outcomes of transactions from then on
	}{
		{"killed, the service answers 503", (*mysqld.Server).Kill, false, []string{"failed"}},
		{"killed, the service hangs", (*mysqld.Server).Kill, true, []string{"timed_out", "dropped"}},
		{"suspended", func(s *mysqld.Server) error { return processtest.Suspend(s.Pid()) }, false, []string{"timed_out", "dropped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.2)
			s := serve(t, "mariadb")
			proxy, hangNow := s.hangingProxy(t)
			o := s.payments(t, quickLoad(40, 10*time.Second))
			o.Target, o.Profile.Flows[0].Timeout, o.Profile.Abort = proxy, outageTimeout, nil
			out := make(chan time.Time, 1)
			o.Progress = during(1500*time.Millisecond, func() {
				if c.hangs {
					hangNow()
				}
				if err := c.outage(s.server); err != nil {
					t.Error(err)
				}
				out <- time.Now()
			})
			r := certify(t, o)
			checkOverrun(t, r)
			outcomes := checkEnds(t, r, c.ends, <-out)
			v := verdict.Judge(r)
			if v.Outcome != verdict.Fail && v.Outcome != verdict.Invalid {
				t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
			}
			for _, rule := range v.Rules {
				// A shared machine may starve the generator.
				if rule.Outcome == verdict.Invalid && rulebook.Blames(rule.ID) != rulebook.Generator {
					t.Errorf("rule %s: %s", rule.ID, rule.Detail)
				}
			}
			for _, slo := range v.SLOs {
				if slo.Metric == verdict.ThroughputMetric && slo.Outcome != verdict.Fail {
					t.Errorf("throughput is %s", slo.Outcome)
				}
			}
			if l := r.Facts.Ledger; l.State != record.StateFailed || !strings.Contains(l.Reason, "the database cannot be reached") {
				t.Errorf("ledger %s: %s", l.State, l.Reason)
			}
			for _, col := range r.Facts.Collectors {
				if (col.Source == "database") != (col.State == record.StateFailed) {
					t.Errorf("collector %s: %s: %s", col.Source, col.State, col.Reason)
				}
			}
			t.Logf("%v; %s", outcomes, v.Claim)
		})
	}
}
