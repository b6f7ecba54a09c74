package k6

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// Whatever the target and the script do, no frame of a worker contradicts itself: a run
// that only looks odd is never INVALID for it.
func TestWorkersDoNotContradictThemselves(t *testing.T) {
	slos := append(
		paySLOs(),
		spec.SLO{Metric: "transaction_duration", Expression: "p(50)<64", Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: 64},
		spec.SLO{Metric: "transaction_duration", Expression: "max<=256", Aggregate: spec.Max, Operator: "<=", Bound: 256},
		spec.SLO{Metric: "http_req_duration", Expression: "p(50)<128", Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: 128},
		spec.SLO{Metric: "http_req_failed", Selector: []metric.Label{{Key: "name", Value: "pay"}}, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1},
		spec.SLO{Metric: "http_req_own_time", Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250},
		spec.SLO{Metric: "own_rate", Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9},
	)
	p := spec.Profile{Name: "payment", Flows: []spec.Flow{{Load: spec.Load{Unit: "tps", Target: 10, Hold: 10 * time.Second}, Timeout: time.Second, SLOs: slos}}}
	load, err := plan.New(p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		k := newK6Metrics()
		time1 := k.registry.MustNewMetric("http_req_own_time", metrics.Trend, metrics.Time)
		rate := k.registry.MustNewMetric("own_rate", metrics.Rate)
		count := k.registry.MustNewMetric("own_count", metrics.Counter)
		a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: slos, DisplacedAfter: load.DisplacedAfter, Timeout: p.Flows[0].Timeout}}})
		t0 := time.Now().Truncate(time.Second)
		a.start(t0, t0)
		ms := rapid.SampledFrom([]time.Duration{0, 1, 63999999, 64 * time.Millisecond, 128 * time.Millisecond, 200 * time.Millisecond, 250 * time.Millisecond, 256 * time.Millisecond, 256000001, 3 * time.Second})
		value := rapid.OneOf(rapid.SampledFrom([]float64{0, -5, 250, 256, math.Inf(1), math.Inf(-1), 1e308}), rapid.Float64())
		names := rapid.IntRange(1, 300).Draw(rt, "names")
		checker := record.NewChecker(record.Plan{Profile: p, Load: load})
		checker.Start(t0)
		traced := &mark.Marks{}
		traced.Set("r", 0, spec.Marking{Header: "X-Assay-Run", Sampled: 0.5})
		marks := traced.Scenario("payment")
		scheduled := map[int64]int64{}
		sequence := uint64(0)
		send := func(end int64) {
			drained := a.take(end)
			for i, second := range drained.seconds {
				sequence++
				f := metric.Frame{Source: "worker/0", Sequence: sequence, Second: second, Points: drained.buckets[i].points(drained.series, drained.kinds)}
				sent, err := metric.Encode(f)
				if err != nil {
					rt.Fatal(err)
				}
				got, err := metric.Decode(sent)
				if err != nil {
					rt.Fatal(err)
				}
				if err := checker.Frame(got[0]); err != nil {
					rt.Errorf("second %d: %v", second-t0.Unix(), err)
				}
			}
			a.recycle(drained)
		}
		var dues []time.Duration
		for range rapid.IntRange(1, 40).Draw(rt, "transactions") {
			dues = append(dues, time.Duration(rapid.IntRange(0, 9999).Draw(rt, "due"))*time.Millisecond)
		}
		slices.Sort(dues)
		root := k.registry.RootTagSet()
		at := func(tags *metrics.TagSet, when time.Duration, m *metrics.Metric, v float64) metrics.Sample {
			return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: t0.Add(when), Value: v}
		}
		// outside adds a request of setup() or teardown(), perhaps with a scenario's tag.
		outside := func(when time.Duration) {
			tags := root.With("name", "outside")
			if rapid.Bool().Draw(rt, "tagged") {
				tags = tags.With("scenario", "payment")
			}
			trail := &httpext.Trail{EndTime: t0.Add(when), Duration: time.Millisecond, Receiving: time.Millisecond}
			trail.SaveSamples(k.builtin, &metrics.TagsAndMeta{Tags: tags})
			a.add([]metrics.SampleContainer{trail})
		}
		outside(-3 * time.Second)
		open := map[string]*arrivals.Transaction{}
		request := func(vu string, end time.Duration) {
			name := fmt.Sprint("pay", rapid.IntRange(0, names).Draw(rt, "name"))
			if rapid.Bool().Draw(rt, "pay") {
				name = "pay"
			}
			trail := k.trail(t0.Add(end), name, vu, ms.Draw(rt, "took"), rapid.Bool().Draw(rt, "failed"))
			if rapid.IntRange(0, 4).Draw(rt, "callback") == 0 { // http.setResponseCallback(null)
				trail.Failed, trail.Samples = null.Bool{}, trail.Samples[:len(trail.Samples)-1]
			}
			tags := root.With(arrivals.VUTag, vu).With("scenario", "payment").With("name", name)
			a.add([]metrics.SampleContainer{
				trail, at(tags, end, time1, value.Draw(rt, "own time")), at(tags, end, rate, value.Draw(rt, "own rate")), at(tags, end, count, value.Draw(rt, "own count")),
			})
		}
		end := func(vu string) {
			txn := open[vu]
			if txn == nil {
				return
			}
			for range rapid.IntRange(0, 2).Draw(rt, "further requests") {
				request(vu, txn.Due+txn.Latency)
			}
			if !txn.Interrupted {
				tags, share := root.With(arrivals.VUTag, vu).With("scenario", "payment"), rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "share")
				a.add([]metrics.SampleContainer{metrics.Samples{
					at(tags, txn.Due+txn.Latency, k.builtin.IterationDuration, share*milliseconds(txn.Latency)), at(tags, txn.Due+txn.Latency, k.builtin.Iterations, 1),
				}})
			}
			if rapid.Bool().Draw(rt, "its iteration is sent before") {
				send(1 << 62)
			}
			a.add([]metrics.SampleContainer{txn})
			delete(open, vu)
		}
		reported := int64(0)
		schedule := func(before int64) {
			for ; reported < before; reported++ {
				if n := scheduled[reported]; n > 0 {
					a.add([]metrics.SampleContainer{arrivals.Scheduled{Scenario: "payment", Second: reported, Slots: n}})
				}
			}
		}
		for _, due := range dues {
			scheduled[int64(due/time.Second)]++
		}
		for i, due := range dues {
			if rapid.Bool().Draw(rt, "schedule") {
				schedule(int64(due / time.Second))
			}
			vu := fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "VU"))
			end(vu)
			txn := &arrivals.Transaction{
				Scenario: "payment", Due: due, Latency: ms.Draw(rt, "latency"), VU: vu, Lag: ms.Draw(rt, "lag"), Queueing: ms.Draw(rt, "queueing"),
				Outcome: rapid.SampledFrom([]arrivals.Outcome{arrivals.Completed, arrivals.Failed, arrivals.TimedOut, arrivals.Dropped}).Draw(rt, "outcome"), Interrupted: i%7 == 0,
				Trace: marks.Begin(vu, int64(i)),
			}
			if txn.Outcome == arrivals.Dropped {
				txn.VU = ""
				a.add([]metrics.SampleContainer{txn})
				continue
			}
			start := arrivals.TransactionStart(*txn)
			a.add([]metrics.SampleContainer{&start})
			txn.Trace.Mark(http.Header{})
			open[vu] = txn
			for range rapid.IntRange(0, 3).Draw(rt, "requests") {
				request(vu, due+txn.Latency)
			}
			if rapid.Bool().Draw(rt, "ends later") {
				send(t0.Unix() + int64(due/time.Second) + 1)
			}
		}
		for _, vu := range slices.Sorted(maps.Keys(open)) {
			end(vu)
		}
		schedule(10)
		outside(11 * time.Second)
		send(1 << 62)
		if err := checker.Frame(metric.Frame{Source: "worker/0", Sequence: sequence + 1, Second: t0.Unix(), Closing: true, Points: a.closing(sequence)}); err != nil {
			rt.Error(err)
		}
		if all := checker.Unaccounted(); len(all) > 0 {
			rt.Errorf("%+v", all)
		}
	})
}

// Samples that a script adds to a metric that k6 itself measures are not what the metric is
// of: the run ends. What it adds to metrics of its own is fine, and what k6 adds itself.
func TestScriptsDoNotAddToWhatK6Measures(t *testing.T) {
	k := newK6Metrics()
	own := k.registry.MustNewMetric("own_time", metrics.Trend, metrics.Time)
	for m, refused := range map[*metrics.Metric]bool{
		k.builtin.HTTPReqs: true, k.builtin.HTTPReqDuration: true, k.builtin.HTTPReqWaiting: true, k.builtin.HTTPReqFailed: true,
		k.builtin.IterationDuration: true, k.builtin.Iterations: true, k.builtin.Checks: false, own: false,
	} {
		a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment"}}})
		s := metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "payment")}, Time: time.Now(), Value: 1}
		a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", VU: "1"}, metrics.Samples{s}, k.trail(time.Now(), "pay", "1", time.Second, false)})
		if err := a.take(1 << 62).refused; err != nil {
			t.Errorf("%s of k6: %v", m.Name, err)
		}
		a.add([]metrics.SampleContainer{s})
		want := "the script adds samples to " + m.Name + ", which k6 itself measures: give its metric another name"
		if err := a.take(1 << 62).refused; refused != (err != nil) || refused && err.Error() != want {
			t.Errorf("%s of the script: %v", m.Name, err)
		}
	}
}
