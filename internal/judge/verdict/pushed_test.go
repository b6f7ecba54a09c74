package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// A service whose metrics were pushed was observed. A limitation says why pushed metrics
// could not be read, if they are missing.
func TestPushedMetrics(t *testing.T) {
	push := func(source string, length int64) metric.Frame {
		return metric.Frame{Source: source, Second: synthetic.T0.Unix() + 20, Length: length, Points: []metric.Point{
			metric.HistPoint(metric.NewSeries("http.server.request.duration", "s"), metrictest.Hist(0.1)),
		}}
	}
	scraped := metric.Frame{Source: metric.SourceService, Second: synthetic.T0.Unix() + 20, Points: []metric.Point{
		metric.CounterPoint(metric.Of(metric.ServiceRequestTime), 100), metric.CounterPoint(metric.Of(metric.ServiceQueryTime), 50),
	}}
	for name, c := range map[string]struct {
		frames []metric.Frame
		absent bool   // the service is said not to be observed
		says   string // empty: nothing of pushed metrics
	}{
		"none":             {nil, true, ""},
		"one service":      {[]metric.Frame{push("otlp/shop", 1)}, false, ""},
		"two services":     {[]metric.Frame{push("otlp/shop", 1), push("otlp/stock", 1)}, true, "otlp/shop, otlp/stock"},
		"too rarely":       {[]metric.Frame{push("otlp/shop", 61)}, true, "covers up to 60 s"},
		"rarely, and read": {[]metric.Frame{push("otlp/shop", 61), scraped}, true, ""},
	} {
		run := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
		run.Run.Facts.Collectors[1] = record.Collect{Source: metric.SourceService, State: record.StateAbsent, Reason: "no metrics endpoint"}
		run.Frames = append(run.Frames, c.frames...)
		r := run.Record()
		r.Timeline.ReadPushed()
		all := Judge(r).Limitations
		if absent := slices.Contains(all, "service was not observed (no metrics endpoint)"); absent != c.absent {
			t.Errorf("%s: %q", name, all)
		}
		said := slices.IndexFunc(all, func(text string) bool { return strings.Contains(text, "pushed by OTLP") })
		if (said >= 0) != (c.says != "") || said >= 0 && !strings.Contains(all[said], c.says) {
			t.Errorf("%s: %q, want %q", name, all, c.says)
		}
	}
}
