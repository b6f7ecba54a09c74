package run_test

import (
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/pi/pitest"
	"assay/harness/observe/database/databasetest"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/run"
)

// redoLoad is a load of 1.5 sessions that wait for the redo log, and 0.25 on CPU.
func redoLoad(int64) []pitest.Session {
	return []pitest.Session{
		{Event: "wait/io/aurora_redo_log_flush", Statement: "UPDATE account SET balance = ?", Sessions: 1.5},
		{Event: "CPU", Statement: "SELECT * FROM account WHERE id = ?", Sessions: 0.25},
	}
}

// Waits come from Performance Insights, the ledger from the database itself; one sample a
// second is complete, and the record has no secret.
func TestPaymentsWithPerformanceInsights(t *testing.T) {
	t.Parallel()
	expectPass(t, func(t *testing.T) verdict.Verdict {
		api, insights := performanceInsights.Serve(t)
		api.Load, api.Late = redoLoad, 2*time.Second
		s := serve(t, "mariadb")
		before := s.instruments(t)
		o := withMaxSLOs(s.payments(t, quickLoad(20, 15*time.Second)))
		o.Insights = &insights
		r := certify(t, o)
		v := verdict.Judge(r)
		if rule := findRule(v, "collector"); rule.Limitation != "" || rule.Observed == nil || *rule.Observed != 1 {
			t.Errorf("the collector: %s", rule.Detail)
		}
		waits := diagnose.Of(r, v).Waits
		if len(waits) != 2 || waits[0].Class != "commit" || waits[0].Inferred || math.Abs(waits[0].AAS-1.5) > 1e-9 || math.Abs(waits[1].AAS-0.25) > 1e-9 || waits[0].Samples != int64(math.Round(1.5*15)) {
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

// checkNoSecrets fails the test if a file of the record has one of the secrets.
func checkNoSecrets(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func findRule(v verdict.Verdict, id string) verdict.Rule {
	at := slices.IndexFunc(v.Rules, func(r verdict.Rule) bool { return r.ID == id })
	return v.Rules[at]
}

// Credentials that expire during the run cost its waits: a limitation, which does not
// change the verdict.
func TestPerformanceInsightsCredentialsExpire(t *testing.T) {
	t.Parallel()
	expectPass(t, func(t *testing.T) verdict.Verdict {
		api, insights := performanceInsights.Serve(t)
		api.Load = redoLoad
		api.Refuse = func(call int) (string, int) {
			if call > 2 { // after the call of the preflight and the collector's first
				return "ExpiredTokenException", http.StatusBadRequest
			}
			return "", 0
		}
		server := httptest.NewServer(http.HandlerFunc(think))
		defer server.Close()
		o := options(t, loose(steady(40, 10*time.Second)), getScript, server.URL)
		o.Insights = &insights
		r := certify(t, o)
		v := verdict.Judge(r)
		const limitation = "no sample of the database was taken (collect from Performance Insights: the AWS credentials have expired): the bottleneck is undetermined"
		if !slices.Contains(v.Limitations, limitation) {
			t.Errorf("limitations %q", v.Limitations)
		}
		if r.Plan.Database != insights.String() {
			t.Errorf("the plan names %s", r.Plan.Database)
		}
		return v
	})
}

// A run that never begins does not wait for points that are published late.
func TestPerformanceInsightsWhenSetupFails(t *testing.T) {
	t.Parallel()
	api, insights := performanceInsights.Serve(t)
	api.Late = time.Hour
	o := options(t, steady(10, 10*time.Second), "export function setup() { throw new Error('not today') }\nexport default function () {}", "http://127.0.0.1:1")
	server := httptest.NewServer(http.HandlerFunc(think))
	defer server.Close()
	o.Target, o.Insights = server.URL, &insights
	began := time.Now()
	if err := run.Run(t.Context(), o); err == nil {
		t.Error("the run began")
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// IAM tokens expire during the run, and connections break: the collector and the ledger
// reconnect with new tokens.
func TestIAMTokensExpireMidRun(t *testing.T) {
	t.Parallel()
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mariadb")
		rootDSN, err := mysql.ParseDSN(s.dsn)
		if err != nil {
			t.Fatal(err)
		}
		proxy := databasetest.NewIAMProxy(t, databasetest.Backend{Addr: rootDSN.Addr, User: rootDSN.User, Password: rootDSN.Passwd}, "assay", databasetest.TestIdentity)
		proxy.Lifetime = 4 * time.Second
		o := withMaxSLOs(s.payments(t, quickLoad(20, 15*time.Second)))
		o.DSN = "assay@tcp(" + proxy.Addr + ")/shop?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle
		o.Progress = during(6*time.Second, proxy.Drop) // once the collector has started, on any machine
		r := certify(t, o)
		v := verdict.Judge(r)
		tokens, denied := proxy.Tokens()
		if slices.Sort(tokens); len(slices.Compact(tokens)) < 3 || denied > 0 {
			t.Errorf("%d tokens, %d denied", len(tokens), denied)
		}
		if n, _ := r.Timeline.Sum(metric.DBSample, nil, record.Span{From: judged(r).To - 4, To: judged(r).To}); n < 10 {
			t.Errorf("%g samples in the last four seconds, after the collector's connection was cut", n)
		}
		checkNoSecrets(t, o.Dir, "X-Amz-Signature", os.Getenv("AWS_SECRET_ACCESS_KEY"))
		return v
	})
}
