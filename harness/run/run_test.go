package run_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/harness/load/k6"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

// TestMain makes the test binary a worker when it is re-executed as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

const script = `
import http from 'k6/http';
export default function () { http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } }); }
`

func TestRunRecordsEveryTransaction(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Millisecond)
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	profile := spec.Profile{
		Name: "trivial", Scenario: "s.js", Timeout: 2 * time.Second,
		Load: spec.Load{Unit: "tps", Target: 200, Warmup: time.Second, Baseline: spec.Baseline{Rate: 50, For: 2 * time.Second}, Ramp: 2 * time.Second, Hold: 5 * time.Second, Cooldown: time.Second},
		SLOs: []spec.SLO{{Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250}},
	}
	exe, _ := os.Executable()
	out := filepath.Join(dir, "run")
	err := run.Run(context.Background(), run.Options{
		ID: "r1", Dir: out, File: spec.File{Path: filepath.Join(dir, "thresholds.json")}, Profile: profile,
		Workers: 2, Seed: 1, Target: server.URL, Scope: "smoke", Executable: exe,
		Log: slog.Default(), Progress: func(e run.Event) { t.Logf("%+v", e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	span := record.Span{From: r.Facts.T0.Unix(), To: r.Facts.T0.Unix() + 11}
	for _, o := range metric.Outcomes {
		n, _ := r.Timeline.Sum(metric.Transactions, []metric.Label{{Key: "outcome", Value: o}}, span)
		t.Log(o, n)
	}
	h := r.Timeline.Hist(metric.TransactionDuration, nil, span)
	t.Log(h.Count(), r.Plan.Load.Arrivals())
	for _, q := range []float64{.5, .95, .99} {
		v, _ := h.Quantile(q)
		t.Log(q, v)
	}
	t.Logf("%+v %+v", r.Facts, r.Timeline.Sources())
}
