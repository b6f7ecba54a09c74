package k6

import (
	"slices"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// aSecond has a transaction of VU 7 from 1 s to 2 s, with what happens in it.
type aSecond struct {
	k k6Metrics
	a *aggregate
	t *arrivals.Transaction
}

func newSecond(slos ...spec.SLO) *aSecond {
	s := &aSecond{
		k: newK6Metrics(), a: newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: slos, Timeout: 950 * ms}}}),
		t: &arrivals.Transaction{Scenario: "payment", Due: time.Second, Latency: time.Second, VU: "7"},
	}
	t0 := time.Now().Add(-time.Minute)
	s.a.start(t0, t0.Truncate(time.Second))
	s.a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", Due: time.Second, VU: "7"}})
	return s
}

func (s *aSecond) tags() *metrics.TagSet {
	return s.k.registry.RootTagSet().With(arrivals.VUTag, "7").With("scenario", "payment")
}

// sample is one of a time that ended at an instant of the run.
func (s *aSecond) sample(name string, end, took time.Duration) metrics.SampleContainer {
	m := s.k.registry.MustNewMetric(name, metrics.Trend, metrics.Time)
	return metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: m, Tags: s.tags()}, Time: s.a.t0.Add(end), Value: milliseconds(took)}}
}

// http is a request that was open between two instants.
func (s *aSecond) http(from, to time.Duration) metrics.SampleContainer {
	return s.k.trail(s.a.t0.Add(to), "pay", "7", to-from, false)
}

func (s *aSecond) think(from, to time.Duration) metrics.SampleContainer {
	s.t.Think += to - from
	s.t.Latency -= to - from
	return arrivals.Pause{Scenario: "payment", VU: "7", From: from, To: to}
}

func wait(kind arrivals.WaitKind, from, to time.Duration) metrics.SampleContainer {
	return arrivals.Wait{VU: "7", Kind: kind, From: from, To: to}
}

// sum is the sum of a histogram, or the value of a counter.
func (s *aSecond) sum(name string) (total float64) {
	for _, b := range s.a.seconds {
		for i, series := range s.a.index.series {
			switch {
			case series.Name != name || i >= len(b.touched) || !b.touched[i]:
			case b.hists[i] != nil:
				total += b.hists[i].Sum()
			default:
				total += b.values[i]
			}
		}
	}
	return total
}

// A user does not think while he waits for something: think time is what is left of it when
// nothing is open, whatever is open, and in all times that have it deducted. The rest of a
// transaction, in which the script waits for nothing, is the script's own.
func TestThinkAndScriptTime(t *testing.T) {
	type second = *aSecond
	for name, c := range map[string]struct {
		in                                func(s second) []metrics.SampleContainer
		latency, think, script, group, cl float64 // ms; cl: violations of a bound of 700 ms, cleared
	}{
		"thinks between requests": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.http(1000*ms, 1300*ms), s.think(1300*ms, 1700*ms), s.http(1700*ms, 2000*ms)}
		}, 600, 400, 0, 600, 0},
		"thinks while a request is open": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.think(1010*ms, 2000*ms), s.http(1010*ms, 1910*ms)}
		}, 910, 90, 10, 910, 1},
		"thinks twice, with two requests open one after the other": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.think(1000*ms, 1500*ms), s.think(1500*ms, 2000*ms), s.http(1600*ms, 1900*ms), s.http(1100*ms, 1400*ms)}
		}, 600, 400, 0, 600, 0},
		"thinks with nested requests": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.think(1000*ms, 2000*ms), s.http(1200*ms, 1300*ms), s.http(1100*ms, 1400*ms)}
		}, 300, 700, 0, 300, 0},
		"thinks in a session": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.think(1100*ms, 2000*ms), s.sample(sessionTime, 2000*ms, 900*ms)}
		}, 1000, 0, 100, 1000, 1},
		"thinks in a session of k6/ws, which is booked by its start": {func(s second) []metrics.SampleContainer {
			opened := metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: s.k.builtin.WSConnecting, Tags: s.tags().With("status", "101")}, Time: s.a.t0.Add(1100 * ms), Value: 50}}
			return []metrics.SampleContainer{s.think(1200*ms, 2000*ms), opened, s.sample(sessionTime, 1100*ms, 900*ms)}
		}, 1000, 0, 100, 1000, 1},
		"thinks while a call is open": {func(s second) []metrics.SampleContainer {
			s.k.builtin.GRPCReqDuration.Name = metric.GRPC.Duration()
			call := metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: s.k.builtin.GRPCReqDuration, Tags: s.tags().With("method", "/a.B/C").With("status", "0").With("name", "c")}, Time: s.a.t0.Add(2000 * ms), Value: 800}
			return []metrics.SampleContainer{s.think(1200*ms, 2000*ms), call}
		}, 1000, 0, 200, 1000, 1},
		"thinks while a request fails": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.think(1000*ms, 2000*ms), wait(arrivals.AtRequest, 1000*ms, 1800*ms)}
		}, 800, 200, 0, 800, 1},
		"computes": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.http(1100*ms, 1200*ms)}
		}, 1000, 0, 900, 1000, 0},
		"computes while a request is open": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.http(1000*ms, 1900*ms)}
		}, 1000, 0, 100, 1000, 1},
		"sleeps between requests": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.http(1000*ms, 1100*ms), wait(arrivals.AtTimer, 1100*ms, 1980*ms), s.http(1980*ms, 1990*ms)}
		}, 1000, 0, 10, 1000, 1},
		"sleeps after its last request": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.http(1000*ms, 1100*ms), wait(arrivals.AtTimer, 1050*ms, 1990*ms)}
		}, 1000, 0, 900, 1000, 0},
		"sleeps before its first request": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{wait(arrivals.AtTimer, 1000*ms, 1890*ms), s.http(1900*ms, 2000*ms)}
		}, 1000, 0, 900, 1000, 0},
		"sleeps in a session": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{wait(arrivals.AtTimer, 1100*ms, 1990*ms), s.sample(sessionTime, 2000*ms, 950*ms)}
		}, 1000, 0, 50, 1000, 1},
		"sleeps, and sends nothing that is timed": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{wait(arrivals.AtTimer, 1000*ms, 1990*ms)}
		}, 1000, 0, 10, 1000, 1},
		"sends statements": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{s.sample(sql.ConnectingMetric, 1200*ms, 200*ms), s.sample(sql.DurationMetric, 2000*ms, 700*ms)}
		}, 1000, 0, 100, 1000, 1},
		"connects, and agrees on how": {func(s second) []metrics.SampleContainer {
			return []metrics.SampleContainer{wait(arrivals.AtConnection, 1000*ms, 1010*ms), s.http(1900*ms, 2000*ms)}
		}, 1000, 0, 0, 1000, 1},
		"is interrupted, with a request open": {func(s second) []metrics.SampleContainer {
			s.t.Interrupted, s.t.Outcome = true, arrivals.TimedOut
			return []metrics.SampleContainer{s.http(1000*ms, 1100*ms)}
		}, 1000, 0, 0, 1000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			slo := spec.SLO{Metric: metric.TransactionDuration, Expression: "p(95)<700", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 700}
			s := newSecond(slo)
			// The group ends before the requests that it has left open are reported.
			all, at := c.in(s), 0
			for i, of := range all {
				if _, paused := of.(arrivals.Pause); paused {
					at = i + 1
				}
			}
			all = slices.Insert(all, at, s.sample(metrics.GroupDurationName, 2000*ms, time.Second))
			s.a.add(append(all, s.t))
			for name, want := range map[string]float64{
				metric.TransactionDuration: c.latency, metric.ThinkTime: c.think, metric.ScriptTime: c.script,
				metrics.GroupDurationName: c.group, metric.ViolationsCleared: c.cl,
			} {
				if got := s.sum(name); got < want-1e-3 || got > want+1e-3 {
					t.Errorf("%s is %g, want %g", name, got, want)
				}
			}
		})
	}
}

// A transaction that only seemed to end in time, for it thought while a request was open, has
// timed out.
func TestThinkingDoesNotHideATimeout(t *testing.T) {
	s := newSecond()
	s.a.add([]metrics.SampleContainer{s.think(1000*ms, 2000*ms), s.http(1000*ms, 1960*ms), s.t})
	if got := s.sum(metric.TransactionDuration); got != 960 {
		t.Errorf("it took %g ms", got)
	}
	if key := metric.Of(metric.Transactions, "outcome", metric.TimedOut, "scenario", "payment").Key(); pointsOf(s.a)[s.a.secondOf(time.Second)][key] != 1 {
		t.Error("it has not timed out")
	}
}

// Slots that a VU takes late for the script's own work are late by the generator; for a slow
// system they are not. The same with slots that no VU takes.
func TestScriptsDelaySlots(t *testing.T) {
	for name, open := range map[string]time.Duration{ // of a request in each transaction of a second
		"the script computes": 10 * ms, "both take long": 500 * ms, "the system takes most of it": 900 * ms, "the system takes all of it": time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecond()
			// Due at 1 s, 1.9 s and 1.9 s, and served one after the other.
			s.a.add([]metrics.SampleContainer{s.http(1000*ms, 1000*ms+open), s.t})
			for i, due := range []time.Duration{1900 * ms, 1900 * ms} {
				start := time.Duration(2+i) * time.Second
				one := arrivals.Transaction{Scenario: "payment", Due: due, Queueing: start - due, Latency: start + time.Second - due, VU: "7"}
				begun := arrivals.TransactionStart(one)
				s.a.add([]metrics.SampleContainer{&begun, s.http(start, start+open), &one})
			}
			dropped := arrivals.Transaction{Scenario: "payment", Due: 1900 * ms, Queueing: 2 * time.Second, Outcome: arrivals.Dropped, Latency: 2 * time.Second}
			s.a.add([]metrics.SampleContainer{&dropped})
			second := max(0, open-900*ms)
			third := second + open
			queueing := milliseconds(second+third) + 2000*float64(third)/float64(1100*ms)
			lost := boolToFloat(2*third < 1100*ms)
			if is := s.sum(metric.ArrivalQueueing); is < queueing-0.1 || is > queueing+0.1 {
				t.Errorf("the system has delayed them by %g ms, want %g", is, queueing)
			}
			if is := s.sum(metric.GeneratorLag) + s.sum(metric.ArrivalQueueing); is < 3199.9 || is > 3200.1 {
				t.Errorf("delays of %g ms, want 3200", is)
			}
			if is := s.sum(metric.GeneratorDropped); is != lost {
				t.Errorf("the generator has lost %g, want %g", is, lost)
			}
		})
	}
}

// What the generator's host has not got is no failure of the system: in a request, in a call of
// which k6 does not say what it failed of, or in what the script throws. Other errors are the
// system's.
func TestLacksOfTheGenerator(t *testing.T) {
	failed := spec.SLO{Metric: metric.RequestFailed, Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01}
	txn := spec.SLO{Metric: metric.TransactionDuration, Expression: "p(95)<5000", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 5000}
	dialled := func(class string) arrivals.Wait {
		return arrivals.Wait{VU: "7", Kind: arrivals.AtConnection, From: 1000 * ms, To: 1001 * ms, Lacked: class}
	}
	refused := func(s *aSecond, pairs ...string) metrics.SampleContainer {
		return s.k.failing(s.a.t0.Add(1100*ms), "7", append([]string{"status", "0"}, pairs...)...)
	}
	statement := func(s *aSecond, class string) metrics.SampleContainer {
		m := s.k.registry.MustNewMetric(sql.ErrorsMetric, metrics.Counter)
		return metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: m, Tags: s.tags().With("class", class).With("code", "")}, Time: s.a.t0.Add(1100 * ms), Value: 1}}
	}
	session := func(s *aSecond) metrics.SampleContainer {
		return metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: s.k.builtin.WSConnecting, Tags: s.tags()}, Time: s.a.t0.Add(1000 * ms), Value: 1}}
	}
	for name, c := range map[string]struct {
		in     func(s *aSecond) []metrics.SampleContainer
		throws bool
		lacks  string // empty: the system's
	}{
		"no port": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1213", "error", "dial: unknown errno 99 error with msg `cannot assign requested address`")}
		}, false, metric.ErrorNoPort},
		"no descriptor": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1213", "error", "dial: unknown errno 24 error with msg `too many open files`")}
		}, false, metric.ErrorOpenFiles},
		"no buffers": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1213", "error", "dial: unknown errno 105 error with msg `no buffer space available`")}
		}, false, metric.ErrorNoMemory},
		"no name": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1101", "error", "lookup: no such host")}
		}, false, metric.ErrorDNS},
		"no session, for want of a port": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{dialled(metric.ErrorNoPort), session(s)}
		}, false, metric.ErrorNoPort},
		"no connection of gRPC, for want of a descriptor": {func(*aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{dialled(metric.ErrorOpenFiles)}
		}, true, metric.ErrorOpenFiles},
		"no connection to the database, for want of a port": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{statement(s, metric.ErrorNoPort)}
		}, true, metric.ErrorNoPort},
		"refused": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1212", "error", "dial: connection refused")}
		}, false, ""},
		"reset": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{refused(s, "error_code", "1220", "error", "read: connection reset by peer")}
		}, false, ""},
		"no port, and then refused": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{
				refused(s, "error_code", "1213", "error", "dial: unknown errno 99 error with msg `cannot assign requested address`"),
				refused(s, "error_code", "1212", "error", "dial: connection refused"),
			}
		}, false, ""},
		"too many connections of the database": {func(s *aSecond) []metrics.SampleContainer {
			return []metrics.SampleContainer{statement(s, metric.ErrorTooMany)}
		}, true, ""},
		"throws for its own reasons": {func(*aSecond) []metrics.SampleContainer { return []metrics.SampleContainer{dialled("")} }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecond(txn, failed)
			if c.throws {
				s.t.Outcome = arrivals.Failed
			}
			s.a.add(append(c.in(s), s.t))
			got := pointsOf(s.a)[s.a.secondOf(time.Second)]
			counted := got[metric.Of(metric.GeneratorLacks, "scenario", "payment", "class", c.lacks).Key()]
			undone := got[metric.Of(metric.GeneratorUndone, "scenario", "payment").Key()]
			broken := got[metric.Of(metric.Violations, "slo", txn.ID()).Key()]
			cleared := got[metric.Of(metric.ViolationsCleared, "slo", txn.ID()).Key()]
			want := boolToFloat(c.lacks != "")
			if counted != want || undone != want || broken != 1 || cleared != 1-want {
				t.Errorf("%g for a lack, %g undone; %g violations, %g cleared", counted, undone, broken, cleared)
			}
			if of := got[metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", c.lacks, "scenario", "payment").Key()]; c.lacks != "" && of != 1 && name != "no connection to the database, for want of a port" {
				t.Errorf("%g errors of the class %s", of, c.lacks)
			}
		})
	}
}
