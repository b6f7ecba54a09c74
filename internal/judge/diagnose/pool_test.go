package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// The time to get a connection is divided alike, whatever a pool reports of it.
func TestWhatPoolsReport(t *testing.T) {
	w := system{
		base: map[string]float64{Pool: 2, ConnectionStorm: 1, "commit": 40, Service: 5},
		hold: map[string]float64{Pool: 400, ConnectionStorm: 30, "commit": 40, Service: 5}, connections: 1,
	}
	// frames replaces what the service reports of the time to get a connection, of which it is
	// waiting a part, in ms.
	frames := func(report func(all, waiting float64) []metric.Point) func(int64, string, []metric.Point) []metric.Point {
		return func(_ int64, source string, points []metric.Point) []metric.Point {
			if source != metric.SourceService {
				return points
			}
			value := map[string]float64{}
			for _, p := range points {
				value[p.Series.Name] = p.Value
			}
			points = slices.DeleteFunc(points, func(p metric.Point) bool {
				return p.Series.Name == metric.ServicePoolWaitTime || p.Series.Name == metric.ServiceAcquireTime
			})
			return append(points, report(value[metric.ServiceAcquireTime], value[metric.ServicePoolWaitTime])...)
		}
	}
	counter := func(name string, ms float64) metric.Point { return metric.CounterPoint(metric.Of(name), ms) }
	for name, report := range map[string]func(all, waiting float64) []metric.Point{
		"all, and the wait": func(all, waiting float64) []metric.Point {
			return []metric.Point{counter(metric.ServiceAcquireTime, all), counter(metric.ServicePoolWaitTime, waiting)}
		},
		"all, and opening": func(all, waiting float64) []metric.Point {
			return []metric.Point{counter(metric.ServiceAcquireTime, all), counter(metric.ServiceConnectTime, all-waiting)}
		},
		"the wait, and opening": func(all, waiting float64) []metric.Point {
			return []metric.Point{counter(metric.ServicePoolWaitTime, waiting), counter(metric.ServiceConnectTime, all-waiting)}
		},
		"who is waiting, and opening": func(all, waiting float64) []metric.Point {
			return []metric.Point{metric.GaugePoint(metric.Of(metric.ServicePoolPending), waiting/1000), counter(metric.ServiceConnectTime, all-waiting)}
		},
	} {
		c := w
		c.frames = frames(report)
		f := c.diagnosed()
		split := map[string]float64{}
		for _, part := range f.Split {
			split[part.Component] = *part.MsPerTransaction
		}
		for part, want := range w.hold {
			if math.Abs(split[part]-want) > 1e-6 {
				t.Errorf("%s: %s takes %g ms, want %g", name, part, split[part], want)
			}
		}
		if f.Bottleneck.Component != Pool {
			t.Errorf("%s: %s", name, f.Bottleneck.Sentence)
		}
	}
}

// How long connections are held is read from the pool where it measures that.
func TestTimeThatConnectionsAreHeld(t *testing.T) {
	w := system{base: map[string]float64{Pool: 2, "commit": 40}, hold: map[string]float64{Pool: 400, "commit": 40}, connections: 1}
	for name, c := range map[string]struct {
		held  float64 // ms per transaction
		doubt bool
	}{"during their statements": {45, false}, "during other work, too": {90, true}} {
		held := w
		held.frames = func(second int64, source string, points []metric.Point) []metric.Point {
			rate := 5.0
			if second >= 0 {
				rate = 20
			}
			if source == "service" {
				points = append(points, metric.CounterPoint(metric.Of(metric.ServicePoolUseTime), rate*c.held))
			}
			return points
		}
		if b := held.diagnosed().Bottleneck; strings.Contains(b.Sentence, "held during other work") != c.doubt {
			t.Errorf("%s: %s", name, b.Sentence)
		}
	}
}
