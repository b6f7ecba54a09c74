package record_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/metrictest"
)

// Each point is a line of JSON. Values that JSON cannot represent are omitted.
func TestWriteLines(t *testing.T) {
	hist := metrictest.Hist
	took, depth := metric.NewSeries("took", "ms", "name", "pay"), metric.NewSeries("depth", "")
	dir := sealed(
		t,
		metric.Frame{Source: "worker/0", Sequence: 1, Second: 100, Points: []metric.Point{
			metric.CounterPoint(depth, 3), metric.GaugePoint(depth, math.NaN()), metric.GaugePoint(depth, math.Inf(-1)),
			metric.HistPoint(took, hist(2, 2, 2)), metric.HistPoint(took, hist(2, 2, 2, math.Inf(1))), metric.HistPoint(took, hist()),
		}},
		metric.Frame{Source: "worker/0", Sequence: 2, Second: 101, Closing: true, Points: []metric.Point{metric.CounterPoint(depth, 1)}},
		metric.Frame{Source: "otlp/shop", Second: 110, Length: 10, Points: []metric.Point{
			metric.CounterPoint(depth, 2), metric.HistPoint(took, metrictest.Explicit(t, []float64{100, 250}, 120, 130, 140, 300)),
		}},
	)
	var got strings.Builder
	if err := record.WriteLines(&got, dir); err != nil {
		t.Fatal(err)
	}
	const first = `{"source":"worker/0","sequence":1,"second":100,"metric":`
	want := first + `"depth","value":3}
` + first + `"depth"}
` + first + `"depth"}
` + first + `"took","unit":"ms","labels":{"name":"pay"},"count":3,"sum":6,"p50":2,"p95":2,"p99":2,"max":2}
` + first + `"took","unit":"ms","labels":{"name":"pay"},"count":4,"p50":2}
` + first + `"took","unit":"ms","labels":{"name":"pay"},"count":0,"sum":0}
{"source":"worker/0","sequence":2,"second":101,"closing":true,"metric":"depth","value":1}
{"source":"otlp/shop","sequence":0,"second":110,"seconds":10,"metric":"depth","value":2}
{"source":"otlp/shop","sequence":0,"second":110,"seconds":10,"metric":"took","unit":"ms","labels":{"name":"pay"},"count":4,"sum":690,` +
		`"p50":175,"p95":250,"p99":250,"max":250,` +
		`"lower":{"p50":100,"p95":250,"p99":250,"max":250},"upper":{"p50":250}}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}
