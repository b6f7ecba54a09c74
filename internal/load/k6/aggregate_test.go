package k6

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func paySLOs() []spec.SLO {
	return []spec.SLO{
		{Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250},
		{Metric: "http_req_duration", Selector: []metric.Label{{Key: "name", Value: "pay"}}, Expression: "p(95)<200", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 200},
		{Metric: "http_req_failed", Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01},
	}
}

// k6Metrics makes samples as k6 does.
type k6Metrics struct {
	registry *metrics.Registry
	builtin  *metrics.BuiltinMetrics
}

func newK6Metrics() k6Metrics {
	r := metrics.NewRegistry()
	return k6Metrics{r, metrics.RegisterBuiltinMetrics(r)}
}

func (k k6Metrics) trail(at time.Time, name, vu string, d time.Duration, failed bool) *httpext.Trail {
	tags := metrics.TagsAndMeta{
		Tags: k.registry.RootTagSet().With(arrivals.VUTag, vu).With("scenario", "payment").With("name", name).With("status", "200"),
	}
	tr := &httpext.Trail{EndTime: at, Duration: d, Waiting: d}
	tr.SaveSamples(k.builtin, &tags)
	tr.Failed = null.BoolFrom(failed)
	v := 0.0
	if failed {
		v = 1
	}
	tr.Samples = append(tr.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: k.builtin.HTTPReqFailed, Tags: tags.Tags}, Time: at, Value: v, Metadata: tags.Metadata,
	})
	return tr
}

// pointsOf sums what an aggregate holds, by series key: values of counters,
// counts of histograms.
func pointsOf(a *aggregate) map[int64]map[string]float64 {
	sums := map[int64]map[string]float64{}
	t := a.take(1 << 62)
	for i, second := range t.seconds {
		sums[second] = map[string]float64{}
		for _, p := range t.buckets[i].points(t.series, t.kinds) {
			if p.Kind == metric.Histogram {
				p.Value = float64(p.Hist.Count())
			}
			sums[second][p.Series.Key()] += p.Value
		}
	}
	a.recycle(t)
	return sums
}

func TestTransactionsCountInTheirScheduledSecond(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), DisplacedAfter: 10 * time.Millisecond}}})
	t0 := time.Now().Truncate(time.Second)
	a.start(t0, t0.Truncate(time.Second))
	// Scheduled in second 0, done in second 3; one of its requests failed.
	a.add([]metrics.SampleContainer{
		&arrivals.TransactionStart{Scenario: "payment", Due: 500 * time.Millisecond, VU: "7", Lag: 20 * time.Millisecond},
		k.trail(t0.Add(3*time.Second), "pay", "7", 300*time.Millisecond, true),
		&arrivals.Transaction{Scenario: "payment", Due: 500 * time.Millisecond, Latency: 2600 * time.Millisecond, VU: "7", Lag: 20 * time.Millisecond},
		// The next iteration of the same VU is clean.
		&arrivals.TransactionStart{Scenario: "payment", Due: 3500 * time.Millisecond, VU: "7"},
		k.trail(t0.Add(4*time.Second), "pay", "7", 10*time.Millisecond, false),
		&arrivals.Transaction{Scenario: "payment", Due: 3500 * time.Millisecond, Latency: 20 * time.Millisecond, VU: "7"},
		&arrivals.Transaction{Scenario: "payment", Due: 3600 * time.Millisecond, Latency: 10 * time.Second, Outcome: arrivals.Dropped, Queueing: 10 * time.Second},
		arrivals.Scheduled{Scenario: "payment", Second: 3, Slots: 2},
		// In an overload of the system a stall of the generator displaces nothing.
		&arrivals.Transaction{Scenario: "payment", Due: 600 * time.Millisecond, Latency: 200 * time.Millisecond, VU: "8", Lag: 20 * time.Millisecond, Queueing: 80 * time.Millisecond},
	})
	got := pointsOf(a)
	txn := paySLOs()[0].ID()
	for _, want := range []struct {
		second int64
		key    string
		value  float64
	}{
		{0, metric.NewSeries("transactions", "", "outcome", "failed", "scenario", "payment").Key(), 1},
		{0, metric.NewSeries("slo_violations", "", "slo", txn).Key(), 1},
		{0, metric.NewSeries("generator_displaced", "", "scenario", "payment").Key(), 1},
		{3, metric.NewSeries("transactions", "", "outcome", "completed", "scenario", "payment").Key(), 1},
		{3, metric.NewSeries("transactions", "", "outcome", "dropped", "scenario", "payment").Key(), 1},
		{3, metric.NewSeries("transaction_duration", "", "scenario", "payment").Key(), 2},
		{3, metric.NewSeries("transactions_scheduled", "", "scenario", "payment").Key(), 2},
		{3, metric.NewSeries("slo_samples", "", "slo", txn).Key(), 2},
		{3, metric.NewSeries("slo_violations", "", "slo", txn).Key(), 1},
		// A request belongs to the second of its transaction.
		{0, metric.NewSeries("http_req_failed.occurred", "", "scenario", "payment", "name", "pay").Key(), 1},
		{0, metric.NewSeries("slo_violations", "", "slo", paySLOs()[1].ID()).Key(), 1},
		{3, metric.NewSeries("slo_violations", "", "slo", paySLOs()[1].ID()).Key(), 0},
		{3, metric.NewSeries("slo_samples", "", "slo", paySLOs()[1].ID()).Key(), 1},
	} {
		if v, ok := got[t0.Unix()+want.second][want.key]; !ok || v != want.value {
			t.Errorf("second %d: %s is %g (there: %t), want %g", want.second, want.key, v, ok, want.value)
		}
	}
}

// The closing frame holds the seed of the worker's schedule and data, and how late it
// took its first slot: the first that was due, not the first that ended.
func TestClosingFrameHasSeedAndStart(t *testing.T) {
	a := newAggregate(Session{Run: "r", Seed: 1<<63 + 7, Flows: []Flow{{Scenario: "payment"}}})
	seed := metric.NewSeries("worker_seed", "", "seed", "9223372036854775815").Key()
	delay := metric.NewSeries("worker_start_delay", "ms").Key()
	closing := func() map[string]float64 {
		all := map[string]float64{}
		for _, p := range a.closing(3) {
			all[p.Series.Key()] = p.Value
		}
		return all
	}
	if got := closing(); got[seed] != 1 {
		t.Errorf("before a slot: %v", got)
	} else if _, ok := got[delay]; ok {
		t.Errorf("before a slot there is a delay: %v", got)
	}
	a.start(time.Now().Truncate(time.Second), time.Now().Truncate(time.Second))
	a.add([]metrics.SampleContainer{
		&arrivals.Transaction{Scenario: "payment", Due: 300 * time.Millisecond, Latency: 20 * time.Millisecond, VU: "1", Lag: time.Second},
		&arrivals.Transaction{Scenario: "payment", Due: 100 * time.Millisecond, Latency: 4 * time.Second, VU: "2", Lag: 30 * time.Millisecond, Queueing: 12 * time.Millisecond},
		&arrivals.Transaction{Scenario: "payment", Due: 900 * time.Millisecond, Latency: 20 * time.Millisecond, VU: "1"},
	})
	got := closing()
	if got[seed] != 1 || got[delay] != 42 || got[metric.NewSeries("worker_frames", "").Key()] != 3 {
		t.Errorf("closing frame %v, want seed %s and a delay of 42 ms", got, seed)
	}
}

// A fast failure violates a latency SLO.
func TestFailedRequestsViolateLatencySLOs(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), DisplacedAfter: 10 * time.Millisecond}}})
	now := time.Now()
	a.add([]metrics.SampleContainer{k.trail(now, "pay", "1", time.Millisecond, true)})
	key := metric.NewSeries("slo_violations", "", "slo", paySLOs()[1].ID()).Key()
	if v := pointsOf(a)[now.Unix()][key]; v != 1 {
		t.Errorf("violations %g, want 1", v)
	}
}

func TestSeriesAreBounded(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", DisplacedAfter: 10 * time.Millisecond}}})
	now := time.Now()
	const names = 3 * metric.MaxSeries
	for i := range names {
		a.add([]metrics.SampleContainer{k.trail(now, fmt.Sprintf("/user/%d", i), "1", time.Millisecond, false)})
	}
	sums := pointsOf(a)[now.Unix()]
	total, series := 0.0, 0
	for key, v := range sums {
		if strings.HasPrefix(key, "http_req_duration{") {
			total += v
			series++
		}
	}
	if total != names || series != metric.MaxSeries+1 {
		t.Errorf("%d series hold %g samples, want %d and %d", series, total, metric.MaxSeries+1, names)
	}
	if v := sums[metric.NewSeries("http_req_duration", "", metric.OverflowLabel, "true", "scenario", "payment").Key()]; v != names-metric.MaxSeries {
		t.Errorf("overflow holds %g samples, want %d", v, names-metric.MaxSeries)
	}
}

// Names that are known stay apart where their groups are too many, each in one series more.
func TestGroupsAreBounded(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", DisplacedAfter: 10 * time.Millisecond}}})
	now := time.Now()
	add := func(name, group string) {
		tags := k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "payment").With("name", name).With("group", group)
		a.add([]metrics.SampleContainer{metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: k.registry.Get(metrics.GroupDurationName), Tags: tags}, Time: now, Value: 1}})
	}
	for i := range 3 * metric.MaxSeries {
		add("pay", fmt.Sprint("::", i))
		add("find", fmt.Sprint("::", i))
	}
	add("late", "::0")
	sums := pointsOf(a)[now.Unix()]
	for key, want := range map[string]float64{
		`group_duration{group:\:\:0,name:pay,scenario:payment}`:    1,
		`group_duration{name:pay,overflow:true,scenario:payment}`:  2.5 * metric.MaxSeries,
		`group_duration{name:find,overflow:true,scenario:payment}`: 2.5 * metric.MaxSeries,
		`group_duration{overflow:true,scenario:payment}`:           1,
	} {
		if sums[key] != want {
			t.Errorf("%s is %v, want %v", key, sums[key], want)
		}
	}
}

// A transaction has the name that the script has given its iteration; names have a limit.
func TestTransactionsByName(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", DisplacedAfter: 10 * time.Millisecond}}})
	a.start(time.Unix(100, 0), time.Unix(100, 0))
	transaction := func(name string) {
		tags := k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "payment")
		if name != "" {
			tags = tags.With("name", name)
		}
		a.add([]metrics.SampleContainer{
			&arrivals.TransactionStart{Scenario: "payment", VU: "1"},
			metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: k.builtin.IterationDuration, Tags: tags}, Time: time.Unix(100, 0), Value: 1},
			&arrivals.Transaction{Scenario: "payment", VU: "1", Latency: time.Millisecond},
		})
	}
	transaction("refund")
	transaction("")
	for i := range 2 * metric.MaxSeries {
		transaction(fmt.Sprint("id ", i))
	}
	transaction("refund")
	sums := pointsOf(a)[100]
	for key, want := range map[string]float64{
		"transaction_duration{name:refund,scenario:payment}":             2,
		"transaction_duration{scenario:payment}":                         1,
		"transaction_duration{overflow:true,scenario:payment}":           metric.MaxSeries + 1,
		"transactions{name:refund,outcome:completed,scenario:payment}":   2,
		"transactions{outcome:completed,overflow:true,scenario:payment}": metric.MaxSeries + 1,
	} {
		if sums[key] != want {
			t.Errorf("%s is %v, want %v", key, sums[key], want)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), DisplacedAfter: 10 * time.Millisecond}}})
	now := time.Now()
	a.start(now, now)
	trail := k.trail(now.Add(12*time.Millisecond), "pay", "1", 12*time.Millisecond, false)
	trail.ConnRemoteAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}
	batch := []metrics.SampleContainer{trail}
	a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", VU: "1"}})
	b.ReportAllocs()
	for b.Loop() {
		a.add(batch)
	}
}
