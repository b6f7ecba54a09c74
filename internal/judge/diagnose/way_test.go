package diagnose

import (
	"math"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// slowWire adds ms to each transaction's ten statements, as the service measures them. fast
// is the time of the fastest tenth of statements; 0: not known.
func slowWire(ms, fast float64) func(int64, string, []metric.Point) []metric.Point {
	return func(second int64, source string, points []metric.Point) []metric.Point {
		if source != "service" {
			return points
		}
		bound := 0.4
		if second >= 0 {
			bound = fast
			for i, p := range points {
				switch p.Series.Name {
				case metric.ServiceQueryTime, metric.ServiceRequestTime:
					points[i].Value += 20 * ms
				}
			}
		}
		if fast == 0 {
			return points
		}
		return append(points, metric.GaugePoint(metric.NewSeries(metric.ServiceQueryFastest, "ms"), bound))
	}
}

// The queue for a connection belongs to what holds connections: to statements, and to their
// way to the database, in proportion.
func TestPoolIsChargedToTheWayOfStatements(t *testing.T) {
	// 300 ms of the network's time are on the way to the database: there is no other.
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{Network: 300, wait.Binlog: 60, Pool: 900}), noise: 0.1, frames: slowWire(300, 31)}
	b := w.diagnosed().Bottleneck
	if !strings.Contains(b.Sentence, "on the network between service and database") || b.Component != Network || *b.GrowthMs < 280 || *b.GrowthMs > 320 || *b.QueuedMs < 700 || *b.QueuedMs > 800 {
		t.Errorf("%+v", b)
	}
	if text := strings.Join(b.Evidence, " "); !strings.Contains(text, "the fastest tenth of them take up to 31.0 ms each, against 0.40 ms at the baseline") {
		t.Errorf("%q", text)
	}
	// What is charged to all is the pool's growth.
	if b.RunnerUp == nil || b.RunnerUp.Component != "binlog" || math.Abs(*b.RunnerUp.GrowthMs-60) > 10 {
		t.Errorf("%+v", b.RunnerUp)
	}
}

// A pool that is too small only because of the way of statements is not itself the cause.
func TestPoolThatTheWayFills(t *testing.T) {
	slow := with(healthy(), map[string]float64{Network: 300})
	always := func(second int64, source string, points []metric.Point) []metric.Point {
		if second >= 0 || source != "service" {
			return slowWire(300, 31)(second, source, points)
		}
		for i, p := range points {
			switch p.Series.Name {
			case metric.ServiceQueryTime, metric.ServiceRequestTime:
				points[i].Value += 5 * 300
			}
		}
		return append(points, metric.GaugePoint(metric.NewSeries(metric.ServiceQueryFastest, "ms"), 31))
	}
	for connections, want := range map[float64]string{7: Network, 0.5: Pool} {
		b := system{base: slow, hold: with(slow, map[string]float64{Pool: 900}), noise: 0.1, connections: connections, frames: always}.diagnosed().Bottleneck
		if b.Component != want {
			t.Errorf("%g connections: %+v", connections, b)
		}
	}
}

// Time between two ends is the network's only if round trips show it.
func TestTheWireHasToShowIt(t *testing.T) {
	grown := with(healthy(), map[string]float64{Network: 300})
	for name, c := range map[string]struct {
		frames func(int64, string, []metric.Point) []metric.Point
		want   string
		says   string
	}{
		"all statements are slow":                       {slowWire(300, 31), Network, "the fastest tenth of them take up to 31.0 ms each"},
		"some statements are slow":                      {slowWire(300, 0.5), Undetermined, "round trips do not account for it"},
		"no bound of the fastest":                       {slowWire(300, 0), Undetermined, "no round trip was measured on it"},
		"requests are slow, and the round trip is":      {nil, Network, "a round trip from the collector's host to the service takes "},
		"requests are slow, and the round trip is fast": {fastTrip, Undetermined, "round trips do not account for it"},
		"requests are slow, and it is not measured":     {without(metric.NetworkRoundTrip), Undetermined, "no round trip was measured on it"},
	} {
		b := system{base: healthy(), hold: grown, noise: 0.1, frames: c.frames}.diagnosed().Bottleneck
		if text := b.Sentence + strings.Join(b.Evidence, " "); b.Component != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func fastTrip(_ int64, source string, points []metric.Point) []metric.Point {
	if source != "host" {
		return points
	}
	points = without(metric.NetworkRoundTrip)(0, source, points)
	h := &metric.Hist{}
	h.Record(0.1, 1)
	return append(points, metric.HistPoint(metric.NewSeries(metric.NetworkRoundTrip, "ms", "path", "service"), h))
}

// A service that is stopped, or throttled, delays all that it measures.
func TestServiceThatDoesNotRun(t *testing.T) {
	grown := with(healthy(), map[string]float64{Network: 40, Downstream: 30, Pool: 30, wait.Binlog: 20})
	for name, c := range map[string]struct {
		metric     string
		base, hold float64
		want, says string
	}{
		"stopped":        {metric.ProcessStopped, 0, 0.7, Service, "was stopped (state T: by a signal or a debugger) for 70 % of the time."},
		"throttled":      {metric.CgroupThrottled, 0, 0.5, Service, "throttled by its CPU quota for 50 %"},
		"not much":       {metric.ProcessStopped, 0, 0.02, Undetermined, ""},
		"before as well": {metric.ProcessStopped, 0.6, 0.7, Undetermined, ""},
	} {
		b := system{base: healthy(), hold: with(grown, map[string]float64{Network: 100, Downstream: 70}), noise: 0.1, frames: func(second int64, source string, points []metric.Point) []metric.Point {
			switch source {
			case "host":
				share := c.base
				if second >= 0 {
					share = c.hold
				}
				return append(fastTrip(second, source, points), counterPoint(c.metric, share, "process", "service"))
			}
			return points
		}}.diagnosed().Bottleneck
		if b.Component != c.want || !strings.Contains(strings.Join(b.Evidence, " "), c.says) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// Confidence is lower if time that nothing measures could belong to the runner-up, and
// never 1.
func TestConfidenceCoversWhatIsNotMeasured(t *testing.T) {
	confidence := func(unmeasured float64) float64 {
		b := system{
			base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 300, Downstream: 100, Network: unmeasured}), noise: 0.05, frames: fastTrip,
		}.diagnosed().Bottleneck
		if b.Component != "binlog" && b.Component != Undetermined {
			t.Errorf("%g ms: %+v", unmeasured, b)
		}
		return *b.Confidence
	}
	// The runner-up needs 200 of 250 ms to lead: four fifths.
	if none, some, much := confidence(0), confidence(150), confidence(250); none != maxConfidence || some != maxConfidence || much < 0.6 || much > 0.95 {
		t.Errorf("confidence %g, %g and %g", none, some, much)
	}
}
