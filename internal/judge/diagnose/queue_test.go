package diagnose

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// queueingFor is a service that reports how long requests wait for a worker, and its workers:
// in the hold it has 8, and from second grows on 16.
func queueingFor(w system, baseMs, holdMs float64, grows int64) system {
	w.frames = func(second int64, source string, points []metric.Point) []metric.Point {
		if source != metric.SourceService {
			return points
		}
		rate, ms, workers, waiting := 5.0, baseMs, 8.0, 0.0
		if second >= 0 {
			rate, ms = 20, holdMs
			if waiting = 20; second >= grows {
				workers, waiting = 16, 0
			}
		}
		return append(points, metric.CounterPoint(metric.Of(metric.ServiceQueueTime), rate*ms),
			metric.GaugePoint(metric.Of(metric.ServiceCapacity), workers), metric.GaugePoint(metric.Of(metric.ServiceWaiting), waiting))
	}
	return w
}

func TestWaitingForAWorker(t *testing.T) {
	overloaded := system{base: map[string]float64{Service: 20, "commit": 10}, hold: map[string]float64{Service: 420, "commit": 10}}
	silent := overloaded // it reports no calls to other services, and uses no CPU
	busy := overloaded
	busy.base, busy.hold = map[string]float64{Service: 20, "commit": 10}, map[string]float64{Service: 420, "commit": 160}
	for name, c := range map[string]struct {
		system
		component, sentence, evidence string
	}{
		"it grew": {
			queueingFor(overloaded, 0, 400, 10), Service, "requests wait for a free worker of the service",
			"Requests waited 400 ms per transaction for a free worker of the service, against 0 ms at the baseline: its capacity was 8, with requests waiting for 33.3 % of the time; it grew to 16 at ",
		},
		"it did not grow": {
			queueingFor(overloaded, 0, 400, 1000), Service, "requests wait for a free worker of the service",
			"its capacity was 8, with requests waiting for 100 % of the time; it did not grow.",
		},
		"little of it is waiting": {queueingFor(overloaded, 0, 100, 1000), Service, "the service itself spends the time on its requests", ""},
		// Workers that are in use for 180 ms instead of 30 ms; at the baseline's times 0.6 of 8.
		"commits keep the workers": {queueingFor(busy, 0, 400, 1000), Undetermined, "its workers are in use for 180 ms per transaction, against 30.0 ms at the baseline", "Requests waited"},
	} {
		b := c.diagnosed().Bottleneck
		said := slices.ContainsFunc(b.Evidence, func(text string) bool { return strings.Contains(text, c.evidence) })
		if b.Component != c.component || !strings.Contains(b.Sentence, c.sentence) || !said {
			t.Errorf("%s: %s\n%s\n%q", name, b.Component, b.Sentence, b.Evidence)
		}
		if c.evidence == "" && slices.ContainsFunc(b.Evidence, func(text string) bool { return strings.Contains(text, "free worker") }) {
			t.Errorf("%s: %q", name, b.Evidence)
		}
	}
	grown := queueingFor(overloaded, 0, 400, 10).diagnosed().Bottleneck
	if !slices.ContainsFunc(grown.Evidence, func(text string) bool {
		return strings.HasSuffix(text, " UTC, after requests had waited for 10 s.")
	}) {
		t.Errorf("%q", grown.Evidence)
	}
	// A service that does not report how many requests wait: nothing is said of that.
	for grows, want := range map[int64]string{10: ": its capacity was 8; it grew to 16 at 12:00:26 UTC.", 1000: ": its capacity was 8; it did not grow."} {
		unread := queueingFor(overloaded, 0, 400, grows)
		all := unread.frames
		unread.frames = func(second int64, source string, points []metric.Point) []metric.Point {
			return slices.DeleteFunc(all(second, source, points), func(p metric.Point) bool { return p.Series.Name == metric.ServiceWaiting })
		}
		if b := unread.diagnosed().Bottleneck; !slices.ContainsFunc(b.Evidence, func(text string) bool { return strings.HasSuffix(text, want) }) {
			t.Errorf("want %q: %q", want, b.Evidence)
		}
	}
	// What shows that the time is not in a call to another service.
	frames := queueingFor(silent, 0, 400, 1000).frames
	for name, queue := range map[string]bool{"with": true, "without": false} {
		silent.frames = func(second int64, source string, points []metric.Point) []metric.Point {
			if queue {
				points = frames(second, source, points)
			}
			return slices.DeleteFunc(points, func(p metric.Point) bool { return p.Series.Name == metric.ServiceDownstreamTime })
		}
		if b := silent.diagnosed().Bottleneck; (b.Component == Service) != queue {
			t.Errorf("%s the time of waiting: %s", name, b.Sentence)
		}
	}
}
