package scrape_test

import (
	"math"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
)

const exposition = `# HELP queue Depth.
# TYPE queue gauge
queue{name="a",shard="0"} 3
queue{name="a",shard="1"} 7
queue{name="b",shard="0"} 11
queue_total{name="a"} 99
# TYPE broken gauge
broken NaN
broken{x="1"} 5
# TYPE took summary
took_sum 5
took_count 2
`

func TestLargest(t *testing.T) {
	label := func(key, value string) metric.Label { return metric.Label{Key: key, Value: value} }
	for name, c := range map[string]struct {
		metric  string
		labels  []metric.Label
		want    float64
		problem string
	}{
		"all series":        {metric: "queue", want: 11},
		"with a label":      {metric: "queue", labels: []metric.Label{label("name", "a")}, want: 7},
		"one series":        {metric: "queue", labels: []metric.Label{label("name", "a"), label("shard", "0")}, want: 3},
		"not a prefix":      {metric: "queue_total", want: 99},
		"no such value":     {metric: "queue", labels: []metric.Label{label("name", "c")}, problem: "no metric queue{name:c}"},
		"no such label":     {metric: "queue", labels: []metric.Label{label("zebra", "a")}, problem: "no metric queue{zebra:a}"},
		"no such metric":    {metric: "que", problem: "no metric que"},
		"a summary":         {metric: "took", problem: "no metric took"},
		"a sum by its name": {metric: "took_sum", want: 5},
		"not a number":      {metric: "broken", want: math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scrape.Largest([]byte(exposition), c.metric, c.labels...)
			switch {
			case c.problem != "" && (err == nil || err.Error() != c.problem):
				t.Errorf("error %v, want %s", err, c.problem)
			case c.problem == "" && (err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want))):
				t.Errorf("%g, %v, want %g", got, err, c.want)
			}
		})
	}
	if _, err := scrape.Largest([]byte("queue{ what\n"), "queue"); err == nil {
		t.Error("an invalid exposition has a value")
	}
}

// A URL that may not be read, or is none, is refused without its password.
func TestRefusedURLs(t *testing.T) {
	for _, c := range []struct{ url, problem string }{
		{"http://u:secret@192.0.2.1/metrics", "neither loopback nor the target's host"},
		{"http://u:sec/ret@127.0.0.1/metrics", "percent-encode"},
		{"http://u:sec%zzret@127.0.0.1/metrics", "percent-encode"},
		{"127.0.0.1:80", "percent-encode"},
		{"127.0.0.1/metrics", "want http://HOST:PORT/metrics"},
	} {
		_, err := scrape.Single(scrape.New(c.url)).Largest(t.Context(), "zebra")
		if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v, want %s", c.url, err, c.problem)
		}
	}
}
