package influx

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/goldentest"
	"assay.dev/assay/internal/testing/metrictest"
)

var t0 = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// testRun is a run with a ramp, every kind of sampled SLO, and a database on the same
// host.
func testRun() RunInfo {
	p := spec.Profile{
		Name: "payment", Flows: []spec.Flow{{Scenario: "scenarios/payment.js", Timeout: 10 * time.Second, Load: spec.Load{
			Unit: "tps", Target: 30, Warmup: 2 * time.Second, Baseline: spec.Baseline{Rate: 10, For: 2 * time.Second},
			Ramp: 4 * time.Second, Hold: 10 * time.Second,
		}, SLOs: []spec.SLO{
			{Metric: "checks", Expression: "rate>0.99", Aggregate: spec.Rate, Operator: ">", Bound: 0.99},
			{
				Metric: "http_req_duration", Selector: []metric.Label{{Key: "name", Value: "pay"}},
				Expression: "p(99.9)<200", Aggregate: spec.Percentile, Quantile: 0.999, Operator: "<", Bound: 200,
			},
			{Metric: "http_req_failed", Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01},
			{Metric: metric.Ledger, Expression: "missing==0", Aggregate: spec.Exact, Count: "missing", Operator: "=="},
			{Metric: metric.TransactionDuration, Expression: "max<2000", Aggregate: spec.Max, Operator: "<", Bound: 2000},
			{Metric: metric.TransactionDuration, Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250},
		}}},
	}
	load, err := plan.New(p, 2, 1)
	if err != nil {
		panic(err) // the test's own profile
	}
	return NewRunInfo(record.Plan{Run: "20261120T120000Z-payment-0001", Profile: p, Load: load},
		record.Environment{CoLocation: []string{"service", "database"}}, t0)
}

// worker is a second of one worker with n transactions of 10, 20, 30 ... ms, one of
// which failed.
func worker(i int, sequence uint64, second int64, n int) metric.Frame {
	latency, slo := &metric.Hist{}, testRun().Plan.Profile.Flows[0].SLOs
	for k := range n {
		latency.Record(float64(10*(k+1)), 1)
	}
	count := func(name string, v float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.NewSeries(name, "", labels...), v)
	}
	return metric.Frame{Source: fmt.Sprintf("worker/%d", i), Sequence: sequence, Second: second, Points: []metric.Point{
		count(metric.TransactionsScheduled, float64(n), "scenario", "payment"),
		count(metric.Transactions, float64(n-1), "scenario", "payment", "outcome", metric.Completed),
		count(metric.Transactions, 1, "scenario", "payment", "outcome", metric.Failed),
		metric.HistPoint(metric.NewSeries(metric.TransactionDuration, "ms", "scenario", "payment"), latency),
		metric.HistPoint(metric.NewSeries(metric.GeneratorLag, "ms"), metrictest.Hist(0.1, 0.2)),
		metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "pay", "scenario", "payment"), latency),
		metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "overflow", "true"), metrictest.Hist(3)),
		metric.HistPoint(metric.NewSeries(metric.GRPC.Duration(), "ms", "name", "pay", "scenario", "payment"), metrictest.Hist(3)),
		count(metric.RequestFailed+metric.RateTotal, float64(n), "name", "pay", "scenario", "payment"),
		count(metric.RequestFailed+metric.RateOccurred, 1, "name", "pay", "scenario", "payment"),
		count(metric.Judged, float64(n), "slo", slo[5].ID()),
		count(metric.Violations, 1, "slo", slo[5].ID()),
		count(metric.Judged, float64(n), "slo", slo[2].ID()),
		metric.GaugePoint(metric.NewSeries(metric.WorkerCPUs, ""), 1),
	}}
}

func database(sequence uint64, second int64) metric.Frame {
	session := func(n float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.NewSeries(metric.DBSession, "", labels...), n)
	}
	return metric.Frame{Source: "database", Sequence: sequence, Second: second, Points: []metric.Point{
		metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), 10),
		session(4, "event", "cpu", "class", "CPU", "inferred", "true", "digest", "a"),
		session(6, "event", "io/file/sql/binlog", "class", "binlog", "digest", "a"),
		session(2, "event", "io/file/sql/binlog", "class", "binlog", "digest", "b"),
		metric.CounterPoint(metric.NewSeries(metric.DBCounter, "", "name", "Com_commit"), 40),
		metric.GaugePoint(metric.NewSeries(metric.DBGauge, "", "name", "Threads_running"), 3),
		metric.GaugePoint(metric.NewSeries(metric.ReplicaLag, "ms", "reader", "127.0.0.1:3307"), 17.5),
		metric.GaugePoint(metric.NewSeries(metric.BinlogReaderLag, "ms"), 1200),
		metric.CounterPoint(metric.NewSeries(metric.DBStatementTime, "ms", "digest", "a", "statement", `SELECT a , "b" FROM t WHERE x = ? \`), 12),
		metric.CounterPoint(metric.NewSeries(metric.DBStatements, "", "digest", "a", "statement", `SELECT a , "b" FROM t WHERE x = ? \`), 4),
	}}
}

func machine(sequence uint64, second int64) []metric.Frame {
	counter := func(name string, v float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.NewSeries(name, "", labels...), v)
	}
	gauge := func(name string, v float64, labels ...string) metric.Point {
		return metric.GaugePoint(metric.NewSeries(name, "", labels...), v)
	}
	return []metric.Frame{
		{Source: "service", Sequence: sequence, Second: second, Points: []metric.Point{
			gauge(metric.ServicePoolInUse, 3), gauge(metric.ServicePoolMax, 20),
			counter(metric.ServicePoolWaits, 2), counter(metric.ServicePoolWaitTime, 38),
			counter(metric.ServiceQueries, 190), counter(metric.ServiceQueryTime, 57),
		}},
		{Source: "gauges", Sequence: sequence, Second: second, Points: []metric.Point{metric.GaugePoint(metric.Of("queue_depth"), 41)}},
		{Source: "host", Sequence: sequence, Second: second, Points: []metric.Point{
			gauge(metric.HostCPUs, 2), gauge(metric.HostMemoryAvailable, 1<<30),
			counter(metric.HostCPU, 0.5, "mode", "user"), counter(metric.HostCPU, 1.25, "mode", "idle"), counter(metric.HostCPU, 0.25, "mode", "iowait"),
			counter(metric.HostCPU, 0.5, "mode", "steal"), counter(metric.HostPressure, 0.125, "resource", "cpu", "kind", "some"),
			counter(metric.HostPressure, 0, "resource", "memory", "kind", "full"), counter(metric.CgroupThrottled, 0.75, "process", "database"),
			counter(metric.HostDiskWritten, 4096, "device", "vda"), counter(metric.HostDiskBusy, 12, "device", "vda"),
			counter(metric.HostNetSent, 100, "interface", "loopback"),
			counter(metric.ProcessCPU, 0.25, "process", "worker/0"), gauge(metric.ProcessMemory, 1<<20, "process", "worker/0"),
		}},
	}
}

func timelineOf(frames ...metric.Frame) *record.Timeline {
	timeline := record.NewTimeline()
	for _, f := range frames {
		timeline.Add(f)
	}
	return timeline
}

func lines(t interface{ Fatal(...any) }, timeline *record.Timeline) string {
	var all []byte
	for _, second := range timeline.Seconds() {
		var err error
		if all, err = Append(all, Points(testRun(), timeline, second)); err != nil {
			t.Fatal(err)
		}
	}
	return string(all)
}

// Every measurement, with its tags and fields.
func TestGolden(t *testing.T) {
	second := t0.Unix() + 5 // the second second of the ramp
	frames := append(machine(1, second), worker(0, 1, second, 10), worker(1, 1, second, 11), database(1, second))
	text := lines(t, timelineOf(frames...))
	verdict, err := Append(nil, Verdict(testRun(), t0.Add(20*time.Second), "PASS", "payment sustained \"30\" tps\nwithin all SLOs"))
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "second.line", []byte(text+string(verdict)))
}

// In a profile with flows the points of load have the flow as their scenario, also where
// two flows have requests of one name; the rest has the profile's name.
func TestFlows(t *testing.T) {
	run := testRun()
	run.Plan.Profile.Flows = nil
	var flows []metric.Point
	for _, name := range []string{"views", "payments"} {
		run.Plan.Profile.Flows = append(run.Plan.Profile.Flows, spec.Flow{Name: name})
		run.Plan.Load.Flows = append(run.Plan.Load.Flows, plan.Flow{Name: name, Plan: plan.Plan{Stages: run.Plan.Load.Stages}})
		ms := map[string]float64{"views": 10, "payments": 400}[name]
		flows = append(
			flows,
			metric.CounterPoint(metric.Of(metric.TransactionsScheduled, "scenario", name), 1),
			metric.CounterPoint(metric.Of(metric.Transactions, "scenario", name, "outcome", metric.Completed), 1),
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "get", "scenario", name), metrictest.Hist(ms)),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateTotal, "", "name", "get", "scenario", name), 1),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateOccurred, "", "name", "get", "scenario", name), map[string]float64{"views": 1}[name]),
		)
	}
	flows = append(flows, metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "login"), metrictest.Hist(7))) // in setup()
	second := t0.Unix() + 5
	timeline := timelineOf(append(machine(1, second), metric.Frame{Source: "worker/0", Sequence: 1, Second: second, Points: flows})...)
	got := map[string]float64{} // maximum or rate of errors, by measurement, scenario and name
	for _, p := range Points(run, timeline, second) {
		tag := func(key string) (value string) {
			for _, l := range p.Tags {
				if l.Key == key {
					value = l.Value
				}
			}
			return value
		}
		for _, f := range p.Fields {
			if id := fmt.Sprint(p.Measurement, " ", tag("scenario"), " ", tag("name"), " ", f.Name); f.Name == "max" || f.Name == "error_rate" || f.Name == "cpus" || f.Name == "scheduled" {
				got[id] = f.Value
			}
		}
	}
	want := map[string]float64{
		"request views get max": 10, "request views get error_rate": 1, "request payments get max": 400, "request payments get error_rate": 0,
		"request payment login max": 7, "arrival views  scheduled": 1, "arrival payments  scheduled": 1,
		"transaction views transaction error_rate": 0, "transaction payments transaction error_rate": 0, "host payment  cpus": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a service pushes under OpenTelemetry's names is in no second of a running view, and
// in those of a record that has been read.
func TestPushedMetrics(t *testing.T) {
	second := t0.Unix() + 5
	f := metric.Frame{Source: "otlp/shop", Second: second, Length: 1, Points: []metric.Point{
		metric.HistPoint(metric.NewSeries("db.client.operation.duration", "s", "db.system.name", "mysql"), metrictest.Hist(0.25)),
	}}
	view, read := newPending(10), timelineOf(f)
	view.add(f)
	read.ReadPushed()
	if got := view.due(endOfTime); len(got) != 0 {
		t.Errorf("seconds of the view: %v", got)
	}
	if got := lines(t, read); !strings.Contains(got, "service,profile=payment,run=20261120T120000Z-payment-0001,scenario=payment queries=1,query_ms=250") {
		t.Error(got)
	}
}

// A request that a script has named "scenario" has the tag of the scenario too.
func TestNameIsNoKey(t *testing.T) {
	second := t0.Unix() + 5
	f := metric.Frame{Source: "worker/0", Sequence: 1, Second: second, Points: []metric.Point{
		metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "scenario", "scenario", "payment"), metrictest.Hist(3)),
	}}
	if got := lines(t, timelineOf(f)); !strings.Contains(got, "request,name=scenario,profile=payment,run=20261120T120000Z-payment-0001,scenario=payment ") {
		t.Error(got)
	}
}

// Without data there is no field, and no point: seconds with frames of the host only,
// before, during and after the load.
func TestNoDataIsNoPoint(t *testing.T) {
	before, within, after := t0.Unix()-3, t0.Unix(), t0.Unix()+100
	goldentest.Compare(t, "host-only.line", []byte(lines(t, timelineOf(machine(1, before)[2], machine(2, within)[2], machine(3, after)[2]))))

	idle := metric.Frame{Source: "database", Sequence: 1, Second: before, Points: []metric.Point{
		metric.CounterPoint(metric.NewSeries(metric.DBSession, "", "event", "cpu", "class", "CPU"), 4),
	}}
	got := lines(t, timelineOf(idle))
	if want := "sessions=4 "; !strings.Contains(got, want) || strings.Contains(got, "aas") || strings.Contains(got, "ms_per") || strings.Contains(got, "NaN") {
		t.Errorf("sessions without samples: %s", got)
	}
}

func TestMeanRate(t *testing.T) {
	stages := []plan.Stage{
		{Start: 0, Duration: 2 * time.Second, From: 10, To: 10},
		{Start: 2 * time.Second, Duration: 4 * time.Second, From: 10, To: 30},
		{Start: 6 * time.Second, Duration: 1500 * time.Millisecond, From: 30, To: 30},
	}
	for second, want := range map[int]float64{-1: 0, 0: 10, 1: 10, 2: 12.5, 3: 17.5, 5: 27.5, 6: 30, 7: 15, 8: 0} {
		if got := meanRate(stages, time.Duration(second)*time.Second); got != want {
			t.Errorf("second %d: %g, want %g", second, got, want)
		}
	}
}

// Neither the order of frames nor other seconds of the timeline change a point.
func TestPointsDependOnTheirSecondOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var frames []metric.Frame
		for k := range rapid.IntRange(1, 6).Draw(t, "seconds") {
			second, sequence := t0.Unix()+int64(k), uint64(k+1)
			frames = append(frames, machine(sequence, second)...)
			frames = append(frames, worker(0, sequence, second, rapid.IntRange(1, 20).Draw(t, "n")), database(sequence, second))
		}
		whole := timelineOf(frames...)
		shuffled := rapid.Permutation(frames).Draw(t, "order")
		if a, b := lines(t, whole), lines(t, timelineOf(shuffled...)); a != b {
			t.Fatal(cmp.Diff(a, b))
		}
		second := rapid.SampledFrom(whole.Seconds()).Draw(t, "second")
		alone := timelineOf(slices.DeleteFunc(slices.Clone(frames), func(f metric.Frame) bool { return f.Second != second })...)
		if diff := cmp.Diff(Points(testRun(), whole, second), Points(testRun(), alone, second)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Several workers give the same points as one worker with all of their samples.
func TestWorkersMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := t0.Unix() + 9
		var several []metric.Frame
		one := worker(0, 1, second, 1)
		one.Points = nil
		for i := range rapid.IntRange(1, 4).Draw(t, "workers") {
			f := worker(i, 1, second, rapid.IntRange(1, 20).Draw(t, "n"))
			several = append(several, f)
			for _, p := range f.Points {
				if p.Kind != metric.Gauge { // within one source the last value counts
					one.Points = append(one.Points, p)
				}
			}
		}
		if a, b := lines(t, timelineOf(several...)), lines(t, timelineOf(one)); a != b {
			t.Fatal(cmp.Diff(a, b))
		}
	})
}

// A name may hold any bytes.
func TestAnyNameCanBeWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))
		second := t0.Unix()
		timeline := timelineOf(metric.Frame{Source: "worker/0", Sequence: 1, Second: second, Points: []metric.Point{
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", name), metrictest.Hist(1)),
		}})
		got := lines(t, timeline)
		if n := strings.Count(got, "\nrequest,") + strings.Count(got, "run_event"); !strings.HasSuffix(got, "\n") || n < 2 {
			t.Fatalf("name %q: %q", name, got)
		}
	})
}

// The errors of a flow are tagged with it, those of a profile without flows with its
// scenario, and those that the service counts with the whole load.
func TestErrorsByScenario(t *testing.T) {
	class := func(where, scenario string, n float64) metric.Point {
		return metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", where, "class", "timeout", "scenario", scenario), n)
	}
	single := testRun()
	flows := testRun()
	one := spec.Flow{Name: "orders", Scenario: "orders.js", Timeout: time.Second, Load: single.Plan.Profile.Flows[0].Load}
	other := one
	other.Name = "views"
	flows.Plan.Profile.Flows = []spec.Flow{one, other}
	load, err := plan.New(flows.Plan.Profile, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	flows.Plan.Load = load
	for name, tt := range map[string]struct {
		run    RunInfo
		points []metric.Point
		want   map[string]float64 // by tags where and scenario
	}{
		"without flows": {
			single,
			[]metric.Point{class(metric.AtClient, "default", 3), class(metric.AtClient, "", 1), class(metric.AtService, "", 5)},
			map[string]float64{"client payment": 4, "service payment": 5},
		},
		"with flows": {
			flows,
			[]metric.Point{class(metric.AtClient, "orders", 3), class(metric.AtClient, "views", 2), class(metric.AtService, "", 5)},
			map[string]float64{"client orders": 3, "client views": 2, "service payment": 5},
		},
	} {
		line := timelineOf(metric.Frame{Source: metric.WorkerSource(0), Sequence: 1, Second: t0.Unix() + 10, Points: tt.points})
		got := map[string]float64{}
		for _, p := range Points(tt.run, line, t0.Unix()+10) {
			if p.Measurement == "error" {
				tags := map[string]string{}
				for _, tag := range p.Tags {
					tags[tag.Key] = tag.Value
				}
				for _, f := range p.Fields {
					got[tags["where"]+" "+tags["scenario"]] += f.Value
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
