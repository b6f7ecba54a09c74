//go:build long

package record

import (
	"fmt"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

func latency(name string, value float64) metric.Point {
	h := &metric.Hist{}
	h.Record(value, 1)
	return metric.HistPoint(metric.NewSeries("d", "ms", "name", name), h)
}

// Files of a few hundred kilobytes that would take gigabytes, or minutes.
func TestLongFramesThatCostTooMuch(t *testing.T) {
	wide := &metric.Hist{}
	for x := 1e-9; x < 1e9; x *= 1.003 {
		wide.Record(x, 1)
	}
	refuseFrames(t, map[string]costly{
		"a million series": {func(add func(metric.Frame)) {
			for n := range 1000 {
				var points []metric.Point
				for k := range 1000 {
					points = append(points, metric.CounterPoint(metric.NewSeries("n", "", "l", fmt.Sprint(n*1000+k)), 1))
				}
				add(at(uint64(n+1), 1, points...))
			}
		}, "more memory"},
		"a histogram in each of many seconds and series": {func(add func(metric.Frame)) {
			for n := range 3000 {
				var points []metric.Point
				for k := range 400 {
					points = append(points, latency(fmt.Sprint(k), 1))
				}
				add(at(uint64(n+1), int64(n), points...))
			}
		}, "more memory"},
		"seconds that are opened again and again": {func(add func(metric.Frame)) {
			p := metric.HistPoint(metric.NewSeries("d", "ms"), wide)
			for n := range uint64(8) {
				add(at(n+1, int64(n), p))
			}
			one := metric.HistPoint(metric.NewSeries("d", "ms"), latency("", 1).Hist)
			for n := range uint64(400_000) {
				add(at(n+9, int64(n%8), one))
			}
		}, "longer to read"},
		"seconds in reverse": {func(add func(metric.Frame)) {
			one := metric.HistPoint(metric.NewSeries("d", "ms"), latency("", 1).Hist)
			for n := range uint64(80_000) {
				add(at(n+1, 80_000-int64(n), one))
			}
		}, "longer to read"},
	})
}
