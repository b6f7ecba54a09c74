//go:build long

package run_test

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/databasetest"
)

// Waits come from Performance Insights, the ledger from the database itself; one sample a
// second is complete, and the record has no secret.
func TestLongPaymentsWithPerformanceInsights(t *testing.T) {
	t.Parallel()
	cpus(t, 0.25)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		api, insights := performanceInsights.Serve(t)
		api.Load, api.Late = redoLoad, 2*time.Second
		s := serve(t, "mariadb")
		before := s.instruments(t)
		o := withMaxSLOs(s.payments(t, quickLoad(20, 12*time.Second)))
		o.Insights = &insights
		r := certify(t, o)
		v := verdict.Judge(r)
		if rule := findRule(v, "collector"); rule.Limitation != "" || rule.Observed == nil || *rule.Observed != 1 {
			t.Errorf("the collector: %s", rule.Detail)
		}
		waits := diagnose.Of(r, v).Waits
		if len(waits) != 2 || waits[0].Class != "commit" || waits[0].Inferred || math.Abs(waits[0].AAS-1.5) > 1e-9 || math.Abs(waits[1].AAS-0.25) > 1e-9 || waits[0].Samples != int64(math.Round(1.5*12)) {
			t.Errorf("waits: %+v", waits)
		}
		if r.Ledger == nil || r.Ledger.Acknowledged == 0 || r.Ledger.Missing != 0 {
			t.Errorf("ledger: %+v, %s", r.Ledger, r.Facts.Ledger.Reason)
		}
		if d := r.Environment.Database; d == nil || d.Flavour != "mariadb" || len(d.Instruments) > 0 {
			t.Errorf("the database is described as %+v", d)
		}
		if r.Plan.Insights != insights.String() || r.Plan.Database != databases.Public(s.dsn) {
			t.Errorf("the plan names %s and %s", r.Plan.Insights, r.Plan.Database)
		}
		if after := s.instruments(t); len(after) != len(before) {
			t.Error("instruments were switched on, although the waits come from Performance Insights")
		}
		checkNoSecrets(t, o.Dir, os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"))
		return v
	})
}

// IAM tokens expire during the run, and connections break: the collector and the ledger
// reconnect with new tokens.
func TestLongIAMTokensExpireMidRun(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mariadb")
		rootDSN, err := mysql.ParseDSN(s.dsn)
		if err != nil {
			t.Fatal(err)
		}
		proxy := databasetest.NewIAMProxy(t, databasetest.Backend{Addr: rootDSN.Addr, User: rootDSN.User, Password: rootDSN.Passwd}, "assay", databasetest.TestIdentity)
		proxy.Lifetime = 4 * time.Second
		o := withMaxSLOs(s.payments(t, quickLoad(20, 12*time.Second)))
		o.DSN = "assay@tcp(" + proxy.Addr + ")/shop?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle
		o.Progress = during(6*time.Second, proxy.Drop) // once the collector has started, on any machine
		r := certify(t, o)
		v := verdict.Judge(r)
		tokens, denied := proxy.Tokens()
		if slices.Sort(tokens); len(slices.Compact(tokens)) < 3 || denied > 0 {
			t.Errorf("%d tokens, %d denied", len(tokens), denied)
		}
		if n, _ := r.Timeline.Sum(metric.DBSample, nil, record.Span{From: judged(r).To - 4, To: judged(r).To}); n == 0 {
			t.Errorf("no sample in the last four seconds, after the collector's connection was cut")
		}
		checkNoSecrets(t, o.Dir, "X-Amz-Signature", os.Getenv("AWS_SECRET_ACCESS_KEY"))
		return v
	})
}
