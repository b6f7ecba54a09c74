package record

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
)

// pushed is a frame of a service's export.
func pushed(source string, second, length int64, points ...metric.Point) metric.Frame {
	return metric.Frame{Source: source, Second: second, Length: length, Points: points}
}

func durations(name, unit string, labels []string, values ...float64) metric.Point {
	h := &metric.Hist{}
	for _, v := range values {
		h.Record(v, 1)
	}
	return metric.HistPoint(metric.NewSeries(name, unit, labels...), h)
}

func timelineOf(frames ...metric.Frame) *Timeline {
	t := NewTimeline()
	for _, f := range frames {
		t.Add(f)
	}
	t.ReadPushed()
	return t
}

// Whatever the intervals of the exports, no time is lost, counted twice, or counted outside
// of its interval.
func TestPushedTimeIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var frames []metric.Frame
		ms, requests, first, last := 0.0, 0, int64(math.MaxInt64), int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "exports") {
			second, length := rapid.Int64Range(100, 200).Draw(t, "second"), rapid.Int64Range(1, maxPushed+1).Draw(t, "length")
			unit := rapid.SampledFrom([]string{"s", "ms"}).Draw(t, "unit")
			var values []float64
			for range rapid.IntRange(1, 5).Draw(t, "requests") {
				v := float64(rapid.IntRange(1, 5000).Draw(t, "ms"))
				ms, requests = ms+v, requests+1
				if unit == "s" {
					v /= 1000
				}
				values = append(values, v)
			}
			frames = append(frames, pushed("otlp/shop", second, length, durations("http.server.request.duration", unit, []string{"http.route", "/pay"}, values...),
				durations("http.server.request.duration", unit, []string{"http.route", "/healthz"}, 77)))
			first, last = min(first, second-length+1), max(last, second+1)
		}
		line := timelineOf(frames...)
		got, _ := line.Sum(metric.ServiceRequestTime, nil, Span{From: first, To: last})
		n, _ := line.Sum(metric.ServiceRequests, nil, Span{From: first, To: last})
		everything, _ := line.Sum(metric.ServiceRequestTime, nil, All)
		if math.Abs(got-ms) > 1e-6*ms || math.Abs(n-float64(requests)) > 1e-6 || everything != got {
			t.Fatalf("%g requests of %g ms, of %g in all; want %d of %g", n, got, everything, requests, ms)
		}
	})
}

// What a service pushes is read as what it exposes: statements apart from opening
// connections and from calls to stores, pools summed over instances, the fastest statements.
func TestPushed(t *testing.T) {
	level := func(name string, v float64, labels ...string) metric.Point {
		return metric.GaugePoint(metric.NewSeries(name, "{connection}", labels...), v)
	}
	operation := func(system, name string, s float64) metric.Point {
		return durations("db.client.operation.duration", "s", []string{"db.system.name", system, "db.operation.name", name}, s)
	}
	line := timelineOf(
		pushed(
			"otlp/shop", 100, 0,
			operation("mysql", "SELECT", 0.01), operation("mysql", "INSERT", 0.5), operation("mysql", "sql.connector.connect", 0.25), operation("redis", "GET", 0.125),
			durations("http.client.request.duration", "s", nil, 1),
			durations("db.client.connection.wait_time", "s", nil, 0.75),
			durations("db.client.connections.wait_time", "ms", nil, 9999), // the same under its older name
			metric.CounterPoint(metric.NewSeries("db.client.connection.timeouts", "{timeout}"), 3),
			metric.CounterPoint(metric.NewSeries("process.cpu.time", "s", "cpu.mode", "user"), 2),
			durations("db.client.connection.use_time", "By", nil, 5), // By is no unit of time
			level("db.client.connection.count", 3, "db.client.connection.state", "used", "service.instance.id", "a"),
			level("db.client.connection.count", 4, "db.client.connection.state", "used", "service.instance.id", "b"),
			level("db.client.connection.count", 5, "db.client.connection.state", "idle", "service.instance.id", "b"),
		),
		pushed("otlp/shop", 103, 0, level("db.client.connection.count", 1, "db.client.connection.state", "used", "service.instance.id", "a")),
		// This is the CPU time of other programs.
		pushed("otlp/hosts", 100, 0, metric.CounterPoint(metric.NewSeries("process.cpu.time", "s"), 50)),
	)
	for name, want := range map[string]float64{
		metric.ServiceQueries: 2, metric.ServiceQueryTime: 510, metric.ServiceConnectTime: 250, metric.ServiceDownstreamTime: 1125, metric.ServiceDownstreamCalls: 1,
		metric.ServiceAcquireTime: 750, metric.ErrorsByClass: 3, metric.ServiceCPU: 2,
	} {
		if got, _ := line.Sum(name, nil, All); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if _, found := line.Sum(metric.ServicePoolUseTime, nil, All); found {
		t.Error("bytes were read as a time")
	}
	used, ok := line.Gauge(metric.ServicePoolInUse, nil, metric.SourceService, Span{99, 115})
	for second, want := range map[int]float64{100: 7, 102: 7, 103: 5, 110: 5, 111: 1, 113: 1} {
		if !ok[second-99] || used[second-99] != want {
			t.Errorf("in second %d %g connections are in use, want %g", second, used[second-99], want)
		}
	}
	if ok[0] || ok[115-99-1] {
		t.Error("connections are in use when nothing was pushed")
	}
	if fastest, ok := line.Gauge(metric.ServiceQueryFastest, nil, metric.SourceService, Span{100, 101}); !ok[0] || math.Abs(fastest[0]-10) > 0.1 {
		t.Errorf("the fastest statements take %g ms, want 10", fastest[0])
	}
}

// What is pushed too rarely is not spread over its seconds, of CPU time neither: a few thousand
// points of a day each would take minutes.
func TestPushedTooRarelyToSpread(t *testing.T) {
	frames := []metric.Frame{pushed("otlp/shop", 100, 1, durations("http.server.request.duration", "s", nil, 1))}
	for n := range int64(3000) {
		frames = append(frames, pushed("otlp/shop", 100+n, maxLength, metric.CounterPoint(metric.NewSeries("process.cpu.time", "s"), 1)))
	}
	line := timelineOf(frames...)
	if cpu, found := line.Sum(metric.ServiceCPU, nil, All); found {
		t.Errorf("%g s of CPU time are read", cpu)
	}
	if time, _ := line.Sum(metric.ServiceRequestTime, nil, All); time != 1000 {
		t.Errorf("%g ms of requests are read", time)
	}
}

// Scraped metrics are not replaced or added to. Pushed ones are not read if the target's
// cannot be told from those of others, or if they are pushed too rarely.
func TestPushedOrNot(t *testing.T) {
	requests := func(source string, length int64) metric.Frame {
		return pushed(source, 100, length, durations("http.server.request.duration", "s", nil, 1), durations("http.client.request.duration", "s", nil, 2))
	}
	scraped := metric.Frame{Source: metric.SourceService, Sequence: 1, Second: 100, Points: []metric.Point{metric.CounterPoint(metric.Of(metric.ServiceRequestTime), 5)}}
	for name, c := range map[string]struct {
		frames               []metric.Frame
		requests, downstream float64
		senders              int
		read, rare           bool
	}{
		"one service":            {[]metric.Frame{requests("otlp/shop", 1)}, 1000, 2000, 1, true, false},
		"scraped as well":        {[]metric.Frame{requests("otlp/shop", 1), scraped}, 5, 2000, 1, true, false},
		"of two services":        {[]metric.Frame{requests("otlp/shop", 1), requests("otlp/stock", 1)}, 0, 0, 2, false, false},
		"scraped, of two":        {[]metric.Frame{requests("otlp/shop", 1), requests("otlp/stock", 1), scraped}, 5, 0, 2, false, false},
		"every 10 s":             {[]metric.Frame{requests("otlp/shop", 11)}, 1000, 2000, 1, true, false},
		"every minute":           {[]metric.Frame{requests("otlp/shop", 61)}, 0, 0, 1, false, true},
		"only scraped":           {[]metric.Frame{scraped}, 5, 0, 0, false, false},
		"another k6":             {[]metric.Frame{pushed("otlp/k6", 100, 1, durations(metric.RequestDuration, "ms", nil, 1))}, 0, 0, 0, false, false},
		"not as a histogram":     {[]metric.Frame{pushed("otlp/shop", 100, 1, metric.CounterPoint(metric.NewSeries("http.server.request.duration", "s"), 1))}, 0, 0, 1, false, false},
		"of monitoring, no load": {[]metric.Frame{pushed("otlp/shop", 100, 1, durations("http.server.request.duration", "s", []string{"http.route", "/metrics"}, 1))}, 0, 0, 1, false, false},
	} {
		line := timelineOf(c.frames...)
		got, _ := line.Sum(metric.ServiceRequestTime, nil, All)
		downstream, _ := line.Sum(metric.ServiceDownstreamTime, nil, All)
		if p := line.Pushed(); math.Abs(got-c.requests) > 1e-6 || math.Abs(downstream-c.downstream) > 1e-6 || len(p.Senders) != c.senders || p.Read != c.read || p.TooRare() != c.rare {
			t.Errorf("%s: requests %g, downstream %g, %+v", name, got, downstream, p)
		}
	}
}
