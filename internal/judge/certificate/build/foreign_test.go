package build

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// withCoarseSamples is a run with another sender of requests, in few buckets, every ten
// seconds.
func withCoarseSamples(t *testing.T) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Percentile(metric.RequestDuration, 90, 200))
	c := synthetic.New(p, 1, synthetic.Healthy)
	for end := int64(15); end < 48; end += 10 {
		c.Frames = append(c.Frames, metric.Frame{Source: "otlp/checkout", Second: synthetic.T0.Unix() + end, Length: 10, Points: []metric.Point{
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "checkout"), metrictest.Explicit(t, []float64{50, 100, 250}, 20, 20, 20, 120, 300)),
		}})
	}
	return c
}

// What is known only as an interval is written as one, also after the record was sealed,
// and judging again gives the same bytes.
func TestCoarseSamples(t *testing.T) {
	c := withCoarseSamples(t)
	dir := filepath.Join(t.TempDir(), "run")
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for range 2 {
		sealed, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := certificate.Marshal(Of(sealed))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Parse(data); err != nil {
			t.Error(err)
		}
		all = append(all, data)
	}
	if diff := cmp.Diff(string(all[0]), string(all[1])); diff != "" {
		t.Errorf("judged again: %s", diff)
	}
	var read struct {
		SLOs    []map[string]any
		Latency map[string]map[string]any
	}
	if err := json.Unmarshal(all[0], &read); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, s := range read.SLOs {
		if s["expression"] == "p(90)<200" {
			for _, key := range []string{"observed", "observed_at_least", "observed_at_most", "samples", "violations_at_least", "violations_at_most", "verdict"} {
				got[key] = s[key]
			}
		}
	}
	for _, key := range []string{"count", "p50", "p95", "max", "at_least", "at_most"} {
		got["checkout "+key] = read.Latency["checkout"][key]
	}
	want := map[string]any{
		"observed": 112.097, "observed_at_least": nil, "observed_at_most": nil, "samples": 615.0,
		"violations_at_least": 15.0, "violations_at_most": 18.0, "verdict": "PASS",
		"checkout count": 15.0, "checkout p50": 25.0, "checkout p95": 250.0, "checkout max": 250.0,
		"checkout at_least": map[string]any{"p50": 0.0, "p90": 250.0, "p95": 250.0, "p99": 250.0, "p999": 250.0, "max": 250.0},
		"checkout at_most":  map[string]any{"p50": 50.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
