package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/answer"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

const ms = time.Millisecond

// stalled is a generator that stalled in these spans.
func stalled(spans ...arrivals.Stall) *arrivals.Stalls { return arrivals.StalledFor(spans...) }

// Latencies are cleared of the generator's share: its lag at the start and its stalls
// while the transaction or request was open, and nothing else.
func TestViolationsCleared(t *testing.T) {
	tagged := func(tr *httpext.Trail, key, value string) {
		for i := range tr.Samples {
			tr.Samples[i].Tags = tr.Samples[i].Tags.With(key, value)
		}
	}
	txn, pay, failed := paySLOs()[0].ID(), paySLOs()[1].ID(), paySLOs()[2].ID()
	type counts struct{ measured, cleared float64 }
	for name, c := range map[string]struct {
		txn    arrivals.Transaction
		taken  time.Duration // by its request, which ends with it; 0: no request
		failed bool
		silent bool   // no response
		error  string // k6's, of the response
		stalls []arrivals.Stall
		want   map[string]counts
		undone bool // not completed because of the generator
	}{
		"slow by itself": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 300 * ms}, taken: 290 * ms,
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}},
		},
		"late by the generator": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 300 * ms, Lag: 200 * ms}, taken: 90 * ms,
			want: map[string]counts{txn: {1, 0}, pay: {0, 0}},
		},
		"late behind busy VUs": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 300 * ms, Queueing: 200 * ms}, taken: 90 * ms,
			want: map[string]counts{txn: {1, 1}, pay: {0, 0}},
		},
		"stopped while open": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 300 * ms}, taken: 290 * ms, stalls: []arrivals.Stall{{From: 1050 * ms, To: 1200 * ms}},
			want: map[string]counts{txn: {1, 0}, pay: {1, 0}},
		},
		"stopped before and after": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 300 * ms}, taken: 290 * ms, stalls: []arrivals.Stall{{From: 500 * ms, To: 1000 * ms}, {From: 1300 * ms, To: 1900 * ms}},
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}},
		},
		"stopped within, and slow even so": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 600 * ms}, taken: 600 * ms, stalls: []arrivals.Stall{{From: 1050 * ms, To: 1200 * ms}},
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}},
		},
		"failed with an answer, while stopped": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 100 * ms}, taken: 90 * ms, failed: true, stalls: []arrivals.Stall{{From: 1050 * ms, To: 1090 * ms}},
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}, failed: {1, 1}},
		},
		"failed without an answer, while stopped": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 100 * ms}, taken: 90 * ms, failed: true, silent: true, stalls: []arrivals.Stall{{From: 1050 * ms, To: 1090 * ms}},
			want:   map[string]counts{txn: {1, 0}, pay: {1, 0}, failed: {1, 0}},
			undone: true,
		},
		"failed without an answer for long, stopped for a moment": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 2000 * ms}, taken: 1990 * ms, failed: true, silent: true, stalls: []arrivals.Stall{{From: 1050 * ms, To: 1090 * ms}},
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}, failed: {1, 1}},
		},
		"failed for want of memory": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 100 * ms}, taken: 90 * ms, failed: true, error: answer.Crowded,
			want:   map[string]counts{txn: {1, 0}, pay: {1, 0}, failed: {1, 0}},
			undone: true,
		},
		"failed with too large an answer": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 100 * ms}, taken: 90 * ms, failed: true, error: answer.TooLarge + " 32 MiB",
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}, failed: {1, 1}},
		},
		"failed without an answer": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 100 * ms}, taken: 90 * ms, failed: true, silent: true,
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}, failed: {1, 1}},
		},
		"timed out by a stop": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 5100 * ms, Outcome: arrivals.TimedOut}, taken: 5100 * ms, stalls: []arrivals.Stall{{From: 1050 * ms, To: 6000 * ms}},
			want:   map[string]counts{txn: {1, 0}, pay: {1, 0}},
			undone: true,
		},
		"timed out": {
			txn: arrivals.Transaction{Scenario: "payment", Latency: 5100 * ms, Outcome: arrivals.TimedOut}, taken: 5100 * ms,
			want: map[string]counts{txn: {1, 1}, pay: {1, 1}},
		},
		"dropped by the generator": {
			txn:    arrivals.Transaction{Scenario: "payment", Latency: 5000 * ms, Outcome: arrivals.Dropped, Lag: 4000 * ms, Queueing: 1000 * ms},
			want:   map[string]counts{txn: {1, 0}},
			undone: true,
		},
		"dropped, every VU busy": {
			txn:  arrivals.Transaction{Scenario: "payment", Latency: 5000 * ms, Outcome: arrivals.Dropped, Queueing: 5000 * ms},
			want: map[string]counts{txn: {1, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newK6Metrics()
			a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), Timeout: 5 * time.Second}}})
			t0 := time.Now().Add(-time.Minute)
			a.start(t0, t0.Truncate(time.Second))
			one := c.txn
			one.Due, one.Stalls = time.Second, stalled(c.stalls...)
			if one.Outcome != arrivals.Dropped {
				one.VU = "7"
				a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", Due: one.Due, VU: "7", Lag: one.Lag, Queueing: one.Queueing, Stalls: one.Stalls}})
			}
			if c.taken > 0 {
				tr := k.trail(t0.Add(one.Due+one.Latency), "pay", "7", c.taken, c.failed)
				if c.silent {
					tagged(tr, "status", "0")
				}
				if c.error != "" {
					tagged(tr, "error", c.error)
				}
				a.add([]metrics.SampleContainer{tr})
			}
			a.add([]metrics.SampleContainer{&one})
			got := pointsOf(a)[a.secondOf(one.Due)]
			if undone := got[metric.NewSeries(metric.GeneratorUndone, "", "scenario", "payment").Key()]; (undone == 1) != c.undone {
				t.Errorf("%g transactions not completed because of the generator, want %t", undone, c.undone)
			}
			for _, slo := range []string{txn, pay, failed} {
				is := counts{got[metric.NewSeries(metric.Violations, "", "slo", slo).Key()], got[metric.NewSeries(metric.ViolationsCleared, "", "slo", slo).Key()]}
				if is != c.want[slo] {
					t.Errorf("%s: %v, want %v", slo, is, c.want[slo])
				}
			}
		})
	}
}

// A request that is open when the run ends is not reported by k6. It is counted with
// its duration so far; a transaction that thinks then has none.
func TestOpenRequestsAreCounted(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), Timeout: 5 * time.Second}}})
	t0 := time.Now().Add(-time.Minute)
	a.start(t0, t0.Truncate(time.Second))
	begun := func(vu string, due time.Duration) *arrivals.TransactionStart {
		return &arrivals.TransactionStart{Scenario: "payment", Due: due, VU: vu}
	}
	ended := func(vu string, due, latency time.Duration) *arrivals.Transaction {
		return &arrivals.Transaction{Scenario: "payment", Due: due, VU: vu, Latency: latency, Outcome: arrivals.TimedOut, Interrupted: true}
	}
	a.add([]metrics.SampleContainer{
		begun("1", 1000*ms), ended("1", 1000*ms, 6000*ms), // its first request hangs
		begun("2", 1100*ms), k.trail(t0.Add(6900*ms), "pay", "2", 100*ms, false), ended("2", 1100*ms, 5900*ms), // has just begun another
	})
	thinking := ended("3", 1200*ms, 0)
	thinking.Think = 5800 * ms
	a.add([]metrics.SampleContainer{begun("3", 1200*ms), arrivals.Pause{Scenario: "payment", VU: "3", From: 1200 * ms, To: 7000 * ms}, thinking})
	h := a.bucket(a.secondOf(1000 * ms)).hists[a.flows["payment"].open]
	for limit, want := range map[float64]uint64{0: 3, 100: 2, 101: 1, 6000: 1, 6001: 0} {
		if _, is := h.AtLeast(limit); is != want {
			t.Errorf("%d open requests had taken %g ms, want %d", is, limit, want)
		}
	}
}

// A script's own times are cleared too; other trends are not.
func TestOwnTrendsAreCleared(t *testing.T) {
	slo := func(name string) spec.SLO {
		return spec.SLO{Metric: name, Expression: "p(95)<100", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 100}
	}
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: []spec.SLO{slo("checkout_time"), slo("basket_size")}, Timeout: time.Second}}})
	t0 := time.Now().Add(-time.Minute)
	a.start(t0, t0.Truncate(time.Second))
	tags := k.registry.RootTagSet().With(arrivals.VUTag, "1")
	sample := func(m *metrics.Metric) metrics.Samples {
		return metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: t0.Add(1200 * ms), Value: 150}}
	}
	a.add([]metrics.SampleContainer{
		&arrivals.TransactionStart{Scenario: "payment", Due: time.Second, VU: "1", Stalls: stalled(arrivals.Stall{From: 1100 * ms, To: 1190 * ms})},
		sample(k.registry.MustNewMetric("checkout_time", metrics.Trend, metrics.Time)),
		sample(k.registry.MustNewMetric("basket_size", metrics.Trend)),
	})
	got := pointsOf(a)[a.secondOf(time.Second)]
	for name, want := range map[string]float64{"checkout_time": 0, "basket_size": 1} {
		if is := got[metric.NewSeries(metric.ViolationsCleared, "", "slo", slo(name).ID()).Key()]; is != want {
			t.Errorf("%s: %g violations cleared, want %g", name, is, want)
		}
	}
}

// A stall is split among the seconds that it covers.
func TestStallsAreCountedBySecond(t *testing.T) {
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment"}}})
	a.start(time.Unix(1000, 0), time.Unix(1000, 0))
	a.add([]metrics.SampleContainer{arrivals.Stall{Scenario: "payment", From: 1900 * ms, To: 4200 * ms}, arrivals.Stall{Scenario: "payment", From: 4500 * ms, To: 4540 * ms}})
	got := pointsOf(a)
	key := metric.NewSeries(metric.GeneratorStall, "", "scenario", "payment").Key()
	for second, want := range map[int64]float64{1001: 100, 1002: 1000, 1003: 1000, 1004: 240} {
		if is := got[second][key]; is != want {
			t.Errorf("second %d: %g ms, want %g", second, is, want)
		}
	}
}

// A failed check is cleared with its request if there was no response while the
// generator stalled; a failed check of a response is not.
func TestChecksAreCleared(t *testing.T) {
	checks := spec.SLO{Metric: metrics.ChecksName, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9}
	for name, tt := range map[string]struct {
		status  string
		cleared float64
	}{"no answer": {"0", 0}, "an answer": {"500", 1}} {
		k := newK6Metrics()
		a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: []spec.SLO{checks}, Timeout: time.Second}}})
		t0 := time.Now().Add(-time.Minute)
		a.start(t0, t0.Truncate(time.Second))
		request := k.trail(t0.Add(1100*ms), "pay", "7", 90*ms, true)
		for i := range request.Samples {
			request.Samples[i].Tags = request.Samples[i].Tags.With("status", tt.status)
		}
		tags := k.registry.RootTagSet().With(arrivals.VUTag, "7")
		a.add([]metrics.SampleContainer{
			&arrivals.TransactionStart{Scenario: "payment", Due: time.Second, VU: "7", Stalls: stalled(arrivals.Stall{From: 1050 * ms, To: 1090 * ms})},
			request,
			metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: k.registry.MustNewMetric(metrics.ChecksName, metrics.Rate), Tags: tags}, Time: t0.Add(1101 * ms), Value: 0}},
		})
		got := pointsOf(a)[a.secondOf(time.Second)]
		of := func(name string) float64 { return got[metric.NewSeries(name, "", "slo", checks.ID()).Key()] }
		if of(metric.Violations) != 1 || of(metric.ViolationsCleared) != tt.cleared {
			t.Errorf("%s: %g violations, %g cleared, want 1 and %g", name, of(metric.Violations), of(metric.ViolationsCleared), tt.cleared)
		}
	}
}

// Ended iterations and requests are counted in the second of their end, even if their
// transaction was scheduled earlier.
func TestEndedPartsAreCountedByTheirEnd(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), Timeout: time.Second}}})
	t0 := time.Now().Add(-time.Minute)
	a.start(t0, t0.Truncate(time.Second))
	a.add([]metrics.SampleContainer{
		&arrivals.TransactionStart{Scenario: "payment", Due: time.Second, VU: "7", Stalls: stalled()},
		k.trail(t0.Add(3500*ms), "pay", "7", 2400*ms, false),
	})
	got, key := pointsOf(a), metric.NewSeries(metric.EndedRequestTime, "").Key()
	if began, ended := got[a.secondOf(time.Second)][key], got[a.secondOf(3*time.Second)][key]; began != 0 || ended != 2400 {
		t.Errorf("%g ms in the second of the schedule and %g in that of the end, want 0 and 2400", began, ended)
	}
}

// A stall within a pause is a part of the pause, which no measured time has: it excuses
// nothing. A stall outside of the pauses is cleared, wherever it is in the transaction.
func TestStallsInPauses(t *testing.T) {
	slo := func(name string) spec.SLO {
		return spec.SLO{Metric: name, Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250}
	}
	spans := []string{metric.TransactionDuration, metrics.GroupDurationName, metrics.IterationDurationName}
	for name, c := range map[string]struct {
		pauses  []arrivals.Pause
		stall   arrivals.Stall
		cleared float64
	}{
		"within a pause":      {[]arrivals.Pause{{From: 1100 * ms, To: 3100 * ms}}, arrivals.Stall{From: 1200 * ms, To: 3100 * ms}, 1},
		"before a pause":      {[]arrivals.Pause{{From: 1750 * ms, To: 3750 * ms}}, arrivals.Stall{From: 1000 * ms, To: 1700 * ms}, 0},
		"after a pause":       {[]arrivals.Pause{{From: 1100 * ms, To: 3100 * ms}}, arrivals.Stall{From: 3150 * ms, To: 3850 * ms}, 0},
		"between pauses":      {[]arrivals.Pause{{From: 1100 * ms, To: 2100 * ms}, {From: 2850 * ms, To: 3850 * ms}}, arrivals.Stall{From: 2100 * ms, To: 2800 * ms}, 0},
		"mostly in the pause": {[]arrivals.Pause{{From: 1100 * ms, To: 3100 * ms}}, arrivals.Stall{From: 1200 * ms, To: 3300 * ms}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var slos []spec.SLO
			for _, name := range spans {
				slos = append(slos, slo(name))
			}
			k := newK6Metrics()
			a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: slos, Timeout: 5 * time.Second}}})
			t0 := time.Now().Add(-time.Minute)
			a.start(t0, t0.Truncate(time.Second))
			// From 1 s to 3.9 s, of which it thinks for 2 s.
			one := arrivals.Transaction{Scenario: "payment", Due: time.Second, Latency: 900 * ms, Think: 2 * time.Second, VU: "7", Stalls: stalled(c.stall)}
			begun := arrivals.TransactionStart(one)
			// It waits all the time: nothing is the script's own work.
			a.add([]metrics.SampleContainer{&begun, arrivals.Wait{VU: "7", Kind: arrivals.AtTimer, From: time.Second, To: 3900 * ms}})
			for _, p := range c.pauses {
				p.Scenario, p.VU = "payment", "7"
				a.add([]metrics.SampleContainer{p})
			}
			tags := k.registry.RootTagSet().With(arrivals.VUTag, "7").With("scenario", "payment")
			for _, m := range []*metrics.Metric{k.builtin.GroupDuration, k.builtin.IterationDuration} {
				a.add([]metrics.SampleContainer{metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: t0.Add(3900 * ms), Value: 2900}}})
			}
			a.add([]metrics.SampleContainer{&one})
			got := pointsOf(a)[a.secondOf(one.Due)]
			for _, name := range spans {
				of := func(counted string) float64 { return got[metric.NewSeries(counted, "", "slo", slo(name).ID()).Key()] }
				if of(metric.Violations) != 1 || of(metric.ViolationsCleared) != c.cleared {
					t.Errorf("%s: %g violations, %g cleared, want 1 and %g", name, of(metric.Violations), of(metric.ViolationsCleared), c.cleared)
				}
			}
		})
	}
}
