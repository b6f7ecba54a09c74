package report

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// Values that other senders' buckets do not tell are shown as between which they lie, not
// as numbers that nobody measured.
func TestCoarseValuesAreShownAsIntervals(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs,
		synthetic.Percentile(metric.RequestDuration, 50, 200, metric.Label{Key: "name", Value: "checkout"}),
		synthetic.Percentile(metric.RequestDuration, 95, 200, metric.Label{Key: "name", Value: "checkout"}))
	for second := int64(0); second < 48; second++ {
		c.Frames = append(c.Frames, metric.Frame{Source: "otlp/checkout", Second: synthetic.T0.Unix() + second, Points: []metric.Point{
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "checkout"), metrictest.Explicit(t, []float64{50, 100, 250}, 20, 20, 120, 120, 300)),
		}})
	}
	made := build.Of(c.Record())
	text := string(page.Markdown(Report(made, "")))
	for _, want := range []string{
		"100 ms to 250 ms", "at least 250 ms", "| checkout | 150 | 100 to 250 | over 250 | over 250 | over 250 | over 250 | over 250 | 116 |",
		"of otlp/checkout, 60 samples are only known to lie between 100 and 250 ms, and may violate http\\_req\\_duration\\{name:checkout\\} p(50)\\<200 or not",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !strings.Contains(made.Claim, "http_req_duration{name:checkout} missed p(95)<200, at least 250 ms observed, at least 30 of 150 violate it, 7 allowed") {
		t.Errorf("claim: %s", made.Claim)
	}
}
