//go:build live

package run_test

import (
	"maps"
	"math"
	"runtime"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
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
				checkSampled(t, r)
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

// checkSampled compares the sampled sessions with the statements' time that the server counts
// itself: by Little's law a sample sees as many sessions as there are seconds of statements in
// a second. Five standard deviations are allowed, and nothing is said about the disk's speed:
// if statements are so quick that few samples see one, no sample needs to see a commit.
func checkSampled(t *testing.T, r record.Run) {
	t.Helper()
	span := judged(r)
	sum := func(name string, labels ...string) float64 {
		n, _ := r.Timeline.Sum(name, metric.NewSeries("", "", labels...).Labels, span)
		return n
	}
	samples, sessions := sum(metric.DBSample), sum(metric.DBSession)
	expected := sum(metric.DBStatementTime) / 1000 * samples / float64(span.To-span.From)
	if expected == 0 || math.Abs(sessions-expected) > 5*math.Sqrt(expected)+1 {
		t.Errorf("%.0f samples have %.0f sessions, and %.1f by the time of statements", samples, sessions, expected)
	}
	if commits := sum(metric.DBSession, "class", "commit") + sum(metric.DBSession, "class", "binlog"); commits == 0 && expected > 20 {
		t.Errorf("%.0f sessions in %.0f samples, and none waits for a commit or the binlog", sessions, samples)
	}
}
