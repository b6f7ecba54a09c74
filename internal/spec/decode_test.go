package spec_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t testing.TB, path string) spec.File {
	t.Helper()
	f, err := spec.Decode(path, read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDecodeReadsEveryKey(t *testing.T) {
	f := decode(t, "testdata/good/full.json")
	if f.Path != "testdata/good/full.json" || !strings.HasPrefix(f.Digest, "sha256:") || len(f.Digest) != 71 {
		t.Errorf("path %q, digest %q", f.Path, f.Digest)
	}
	if diff := cmp.Diff([]string{"staging.example", "10.0.0.7", "fd00::7"}, f.Targets); diff != "" {
		t.Error(diff)
	}
	slo := func(name, expression string, a spec.Aggregate, op string, bound float64) spec.SLO {
		return spec.SLO{Metric: name, Expression: expression, Aggregate: a, Operator: op, Bound: bound}
	}
	percentile := func(name, expression, op string, q, bound float64, labels ...metric.Label) spec.SLO {
		s := slo(name, expression, spec.Percentile, op, bound)
		s.Quantile, s.Selector = q, labels
		return s
	}
	exact := func(count string, bound float64, expression string) spec.SLO {
		s := slo("ledger", expression, spec.Exact, "==", bound)
		s.Count = count
		return s
	}
	inferred := slo("checks", "rate>=0.99", spec.Rate, ">=", 0.99)
	inferred.Basis = spec.Inferred
	p := func(v float64) *float64 { return &v }
	gap := 1500 * time.Millisecond
	want := spec.Profile{
		Name: "payment", Description: "every key once", Flows: []spec.Flow{{Scenario: "scenarios/payment.js", Timeout: 2500 * time.Millisecond, Load: spec.Load{
			Unit: "tps", Target: 100, Warmup: 5 * time.Second, Baseline: spec.Baseline{Rate: 25, For: 20 * time.Second},
			Hold: time.Minute, Cooldown: 5 * time.Second, Even: true,
		}, SLOs: []spec.SLO{
			inferred,
			percentile("gateway_bytes", "p(50)<0.5", "<", 0.5, 0.5),
			percentile("http_req_duration", "p(99)<300", "<", 0.99, 300, metric.Label{Key: "name", Value: "GET /payments/{id}"}, metric.Label{Key: "status", Value: "200"}),
			percentile("http_req_duration", "p(95)<200", "<", 0.95, 200, metric.Label{Key: "name", Value: "pay"}),
			slo("http_req_failed", "rate<0.01", spec.Rate, "<", 0.01),
			exact("missing", 0, "missing==0"),
			exact("duplicated", 2, "duplicated==2"),
			slo("persist_lag", "max<5000", spec.Max, "<", 5000),
			percentile("persist_lag", "p(99)<=1000", "<=", 0.99, 1000),
			percentile("transaction_duration", "p(95)<250", "<", 0.95, 250),
			percentile("transaction_duration", "p(99.9)<=1500.5", "<=", 0.999, 1500.5),
			slo("transaction_duration", "max<5000", spec.Max, "<", 5000),
		}, Ledger: &spec.Ledger{Persisted: "SELECT id, persisted_at FROM payments WHERE run_id = ?", Cleanup: spec.Statements{"DELETE FROM payments WHERE run_id = ?"}}}},

		Abort:   []spec.Abort{{Metric: "http_req_failed", Expression: "rate>0.5 for 10s", Limit: 0.5, For: 10 * time.Second}},
		Needs:   []string{"db"},
		Marking: spec.Marking{Header: "X-Load-Test", Sampled: 0.25},
		Rules:   spec.Rules{GeneratorDrops: p(0), Offered: p(0.02), GeneratorCPU: p(0.5), Machine: p(0.1), CollectorShare: p(0.9), CollectorGap: &gap},
	}
	if diff := cmp.Diff(want, f.Profiles["payment"]); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsStages(t *testing.T) {
	got := decode(t, "testdata/good/stages.json").Profiles["flash-sale"].Flows[0].Load
	want := spec.Load{Unit: "rps", Stages: []spec.Stage{
		{Rate: 50, For: 20 * time.Second},
		{Rate: 300, For: 30 * time.Second, Ramp: 5 * time.Second, Judge: true},
		{Rate: 0, For: 10 * time.Second},
		{Rate: 200, For: 20 * time.Second, Judge: true},
		{Rate: 50, For: 5 * time.Second},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeKeepsPositions: CheckMetrics names the line of an expression.
func TestDecodeKeepsPositions(t *testing.T) {
	p := decode(t, "testdata/good/full.json").Profiles["payment"]
	for _, s := range p.Flows[0].SLOs {
		if s.At.Path != "testdata/good/full.json" || s.At.Line < 21 || s.At.Line > 28 {
			t.Errorf("%s is at %+v", s.ID(), s.At)
		}
	}
}

func TestDecodeGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, path := range append(files, "../../thresholds.json") {
		decode(t, path)
	}
}

// TestDecodeBadFiles compares all errors of testdata/bad and of the edits in
// testdata/bad.edits with testdata/bad.golden. An edit is one mistake, which is
// reported once.
func TestDecodeBadFiles(t *testing.T) {
	var got strings.Builder
	for _, c := range badCases(t) {
		_, err := spec.Decode(c.path, c.data)
		all := faults(t, c.path, err)
		if len(all) > 1 && filepath.Ext(c.path) != ".json" {
			t.Errorf("%s: one mistake is reported %d times", c.path, len(all))
		}
		got.WriteString(listing(all))
	}
	compareGolden(t, "testdata/bad.golden", got.String())
}

// faults are the errors of a file: each of one line that names a line, all of
// them in the file's order.
func faults(t testing.TB, path string, err error) spec.Errors {
	t.Helper()
	var all spec.Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("%s: error %v is no spec.Errors", path, err)
	}
	line := 1
	for _, e := range all {
		if e.Path != path || e.Line < line || strings.ContainsAny(e.Error()+e.Hint(), "\n\r") {
			t.Fatalf("%s: after line %d: %+v", path, line, e)
		}
		line = e.Line
	}
	var first *spec.Error
	if !errors.As(err, &first) || first != all[0] || strings.ContainsAny(err.Error(), "\n\r") {
		t.Fatalf("%s: error %q does not begin with %v", path, err, all[0])
	}
	return all
}

// listing is how the command prints errors.
func listing(all spec.Errors) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.Error() + "\n")
		if e.Hint() != "" {
			b.WriteString("    hint: " + e.Hint() + "\n")
		}
	}
	return b.String()
}

func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
		t.Errorf("%s differs, see -update:\n%s", golden, diff)
	}
}

func TestProfileNamesTheNearest(t *testing.T) {
	f := decode(t, "../../thresholds.json")
	if _, err := f.Profile("payment"); err != nil {
		t.Error(err)
	}
	_, err := f.Profile("paymnet")
	var bad *spec.Error
	if !errors.As(err, &bad) {
		t.Fatalf("error %v", err)
	}
	if want := `../../thresholds.json: profiles: unknown profile "paymnet": did you mean "payment"?`; bad.Error() != want {
		t.Errorf("error  %s\nwanted %s", bad, want)
	}
	if want := "profiles: connections, connections-proxy, event, failover, failover-sql, failover-sql-direct, ingestion, ingestion-30k, ingestion-certificate, ingestion-kafka, payment, payment-bank, payment-certificate, payment-experiment, sql-empty, sql-log, stale-reads, tpcc, tpcc-two-writers"; bad.Hint() != want {
		t.Errorf("hint   %s\nwanted %s", bad.Hint(), want)
	}
}
