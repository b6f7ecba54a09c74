package verdict

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// Reports that arrive late are a limitation, from the start of the load to the end of the
// record: those of the end of the hold arrive after it.
func TestReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		delay, observed float64
		second          int64
		limitation      string
	}{
		"in time":          {150, 150, 20, ""},
		"late":             {9200, 9200, 20, "reports of worker/2 on c reached the record up to 9200 ms after their second: abort conditions could not see them in time"},
		"in the warm-up":   {9200, 9200, 1, "reports of worker/2 on c reached the record up to 9200 ms after their second: abort conditions could not see them in time"},
		"in the cool-down": {8000, 8000, 47, "reports of worker/2 on c reached the record up to 8000 ms after their second: abort conditions could not see them in time"},
		"after the load":   {8000, 8000, 53, "reports of worker/2 on c reached the record up to 8000 ms after their second: abort conditions could not see them in time"},
		"before the load":  {9200, 0, -3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := fleet(60, 60)
			run.Frames = append(run.Frames, metric.Frame{Source: metric.SourceReceiver, Sequence: 1, Second: synthetic.T0.Unix() + c.second, Points: []metric.Point{
				metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", "worker/1"), 10), metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", "worker/2"), c.delay),
			}})
			r := ruleOf(t, Judge(run.Record()), "receiver")
			if r.Outcome != Pass || r.Limitation != c.limitation || (r.Observed == nil) != (c.observed == 0) || r.Observed != nil && *r.Observed != c.observed {
				t.Errorf("%+v", r)
			}
		})
	}
}
