package k6

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// traced makes transactions of one VU whose requests are marked.
type traced struct {
	k     k6Metrics
	a     *aggregate
	t0    time.Time
	marks *mark.Scenario
	n     int64
}

func newTraced() *traced {
	k := newK6Metrics()
	t := &traced{k: k, a: newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), Timeout: 10 * time.Second}}}), t0: time.Now().Truncate(time.Second)}
	t.a.start(t.t0, t.t0)
	m := &mark.Marks{}
	m.Set("r", 0, spec.Marking{Header: "X-Assay-Run", Sampled: 0.01})
	t.marks = m.Scenario("payment")
	return t
}

// transaction adds one with a request, and returns its trace id.
func (t *traced) transaction(due, latency time.Duration, outcome arrivals.Outcome, failed bool) [16]byte {
	const vu = "7"
	tx := t.marks.Begin(vu, t.n)
	t.n++
	tx.Mark(http.Header{})
	tx.End()
	trace, _ := tx.Trace()
	c := &arrivals.Transaction{Scenario: "payment", Due: due, Latency: latency, VU: vu, Outcome: outcome, Trace: tx}
	t.a.add([]metrics.SampleContainer{(*arrivals.TransactionStart)(c), t.k.trail(t.t0.Add(due+latency), "pay", vu, latency, failed), c})
	return trace.ID
}

// taken are the exemplars of all seconds so far, by trace.
func (t *traced) taken() (n int, all map[[16]byte]metric.Exemplar) {
	all = map[[16]byte]metric.Exemplar{}
	d := t.a.take(1 << 62)
	for _, b := range d.buckets {
		for _, p := range b.points(d.series, d.kinds) {
			for _, e := range p.Exemplars {
				n++
				all[e.TraceID] = e
			}
		}
	}
	t.a.recycle(d)
	return n, all
}

// The slowest transaction of a second is kept, and an example of each thing that is wrong,
// with what is known of it.
func TestExamples(t *testing.T) {
	tr := newTraced()
	for i := range 50 {
		tr.transaction(time.Duration(i)*ms, 20*ms, arrivals.Completed, false)
	}
	slowest := tr.transaction(100*ms, 150*ms, arrivals.Completed, false)
	for i := range 50 {
		tr.transaction(time.Duration(200+i)*ms, 20*ms, arrivals.Completed, false)
	}
	// Every frame has its own examples.
	failed := tr.transaction(1100*ms, 20*ms, arrivals.Completed, true) // a request of it
	slow := tr.transaction(1200*ms, 220*ms, arrivals.Completed, false)
	late := tr.transaction(2*time.Second, 11*time.Second, arrivals.TimedOut, false)
	_, got := tr.taken()
	for id, want := range map[[16]byte]metric.Exemplar{
		slowest: {Value: 150, Nanos: tr.t0.Add(100 * ms).UnixNano()},
		failed: {Value: 20, Nanos: tr.t0.Add(1100 * ms).UnixNano(), Labels: append(
			[]metric.Label{{Key: "outcome", Value: "failed"}, {Key: "error_class", Value: "HTTP 200"}},
			metric.ViolatesLabels([]string{paySLOs()[1].ID(), paySLOs()[2].ID(), paySLOs()[0].ID()})...,
		)},
		slow: {Value: 220, Nanos: tr.t0.Add(1200 * ms).UnixNano(), Labels: metric.ViolatesLabels([]string{paySLOs()[1].ID()})},
		late: {Value: 11_000, Nanos: tr.t0.Add(2 * time.Second).UnixNano(), Labels: append(
			[]metric.Label{{Key: "outcome", Value: "timed_out"}, {Key: "error_class", Value: metric.ErrorTransaction}},
			metric.ViolatesLabels([]string{paySLOs()[1].ID(), paySLOs()[0].ID()})...,
		)},
	} {
		e, kept := got[id]
		want.TraceID = id
		if fmt.Sprint(e) != fmt.Sprint(want) || !kept {
			t.Errorf("%x: %+v, want %+v", id, e, want)
		}
	}
}

// A dropped transaction, and one without a marked request, cannot be looked up.
func TestExamplesWithoutATrace(t *testing.T) {
	tr := newTraced()
	unsent := tr.marks.Begin("7", 1)
	tr.a.add([]metrics.SampleContainer{
		&arrivals.Transaction{Scenario: "payment", Latency: time.Second, Outcome: arrivals.Dropped},
		&arrivals.Transaction{Scenario: "payment", Latency: time.Second, VU: "7", Outcome: arrivals.Failed, Trace: unsent},
		&arrivals.Transaction{Scenario: "payment", Latency: time.Second, VU: "8", Outcome: arrivals.Failed},
	})
	if n, all := tr.taken(); n != 0 {
		t.Errorf("examples %v", all)
	}
}

// However many transactions fail, and for however many reasons, a frame holds few examples,
// and an hour not many more than a minute; what is kept in between does not grow.
func TestExamplesAreBounded(t *testing.T) {
	tr := newTraced()
	total, minute := 0, 0
	class := tr.k.registry.MustNewMetric(metric.ErrorsByClass, metrics.Counter)
	for second := range 3600 {
		tr.t0 = time.Now().Add(-time.Duration(second) * time.Second) // the clock of the aggregate
		tr.a.start(tr.t0, tr.t0)
		for i := range 20 {
			due := time.Duration(second)*time.Second + time.Duration(i)*ms
			if second < 30 { // the script names a class for each error
				tr.a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", Due: due, VU: "7"}})
				tags := tr.k.registry.RootTagSet().With(arrivals.VUTag, "7").With("class", strconv.Itoa(20*second+i))
				tr.a.add([]metrics.SampleContainer{metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: class, Tags: tags}, Time: tr.t0.Add(due), Value: 1}})
			}
			tr.transaction(due, 300*ms, arrivals.Failed, true)
		}
		n, _ := tr.taken()
		if n > 2+mostDue {
			t.Fatalf("%d examples in second %d", n, second)
		}
		if total += n; second == 59 {
			minute = total
		}
	}
	// The slowest and the slowest sampled one of each second, and those of the reasons.
	if more := total - 2*3600; minute > 1000 || more > minute {
		t.Errorf("%d examples in the first minute, %d in an hour", minute, total)
	}
	if reasons := len(tr.a.examples.given); reasons > metric.MaxSeries+20 {
		t.Errorf("%d reasons are kept", reasons)
	}
}
