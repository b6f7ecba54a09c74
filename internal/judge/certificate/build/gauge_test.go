package build

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// An SLO on a gauge is a row of the certificate like any other: its readings are the
// samples, counted in this run.
func TestGaugeSLO(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Percentile("queue_depth", 90, 500))
	c := synthetic.New(p, 1, synthetic.Healthy)
	for second := range int64(48) {
		if second != 20 { // one of the judged seconds, 16 to 45
			c.Frames = append(c.Frames, metric.Frame{
				Source: metric.SourceGauges, Sequence: uint64(second + 1), Second: synthetic.T0.Unix() + second,
				Points: []metric.Point{metric.GaugePoint(metric.Of("queue_depth"), float64(second))},
			})
		}
	}
	made := Of(c.Record())
	data, err := certificate.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := certificate.Parse(data); err != nil {
		t.Error(err)
	}
	var read struct{ SLOs []map[string]any }
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, s := range read.SLOs {
		if s["metric"] == "queue_depth" {
			for _, key := range []string{"expression", "limit", "unit", "observed", "basis", "samples", "violations_at_least", "violations_at_most", "violations_allowed", "verdict"} {
				got[key] = s[key]
			}
		}
	}
	want := map[string]any{
		"expression": "p(90)<500", "limit": 500.0, "unit": "count", "observed": 43.0, "basis": "counted",
		"samples": 30.0, "violations_at_least": 0.0, "violations_at_most": 1.0, "violations_allowed": 3.0, "verdict": "PASS",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
