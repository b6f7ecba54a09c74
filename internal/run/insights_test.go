//go:build live

package run_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/pitest"
)

// redoLoad is a load of 1.5 sessions that wait for the redo log, and 0.25 on CPU.
func redoLoad(int64) []pitest.Session {
	return []pitest.Session{
		{Event: "wait/io/aurora_redo_log_flush", Statement: "UPDATE account SET balance = ?", Sessions: 1.5},
		{Event: "CPU", Statement: "SELECT * FROM account WHERE id = ?", Sessions: 0.25},
	}
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
	cpus(t, 0.2)
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
	cpus(t, 0.3)
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
