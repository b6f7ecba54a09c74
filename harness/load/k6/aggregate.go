package k6

import (
	"sync"
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"

	"assay/harness/load/arrivals"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
)

// acknowledgedMetric is the counter through which scenarios/lib/ledger.js
// acknowledges; the identity travels in its metadata.
const (
	acknowledgedMetric = "ledger_acknowledged"
	acknowledgedKey    = "ledger_id"
)

// aggregate folds samples into one-second buckets. Samples come from one
// goroutine in the order in which each VU made them; taking the buckets out may
// happen in another.
type aggregate struct {
	run      string
	seed     uint64
	lagLimit time.Duration

	mu        sync.Mutex
	t0        time.Time // with its monotonic reading; zero until the start
	cat       *catalogue
	own       ownSeries
	seconds   map[int64]*bucket // by unix second
	free      []*bucket
	failing   map[string]bool       // VUs of which a request failed in the current iteration
	led       map[string]int        // redirects in a row, likewise
	unled     bool                  // the script says itself how many to follow
	entries   []ledger.Entry        // acknowledged since the last take
	first     *arrivals.Transaction // of the earliest slot that has ended
	txnSLOs   []int                 // SLOs of transaction_duration
	txnTotals []*int64              // totals that a transaction counts towards
}

// ownSeries are the series that transactions go to.
type ownSeries struct {
	duration, scheduled, lag, late, lost, queueing int
	outcomes                                       [4]int
}

// bucket holds what one second has so far: values and histograms by series.
type bucket struct {
	values  []float64
	hists   []*metric.Hist
	touched []bool
}

func newAggregate(s Session) *aggregate {
	a := &aggregate{
		run: s.Run, seed: s.Seed, lagLimit: s.LagLimit, cat: newCatalogue(s.SLOs, s.VUs),
		seconds: map[int64]*bucket{}, failing: map[string]bool{}, led: map[string]int{},
	}
	counter := func(name string, labels ...string) int {
		return a.cat.add(metric.NewSeries(name, "", append(labels, "scenario", s.Scenario)...), metric.Counter)
	}
	hist := func(name string) int {
		return a.cat.add(metric.NewSeries(name, "ms", "scenario", s.Scenario), metric.Histogram)
	}
	a.own = ownSeries{
		duration: hist(metric.TransactionDuration), scheduled: counter(metric.TransactionsScheduled),
		lag: hist(metric.GeneratorLag), late: counter(metric.GeneratorLate),
		lost: counter(metric.GeneratorDropped), queueing: hist(metric.ArrivalQueueing),
	}
	for i, name := range metric.Outcomes {
		a.own.outcomes[i] = counter(metric.Transactions, "outcome", name)
	}
	for _, name := range []string{metric.TransactionDuration, metric.Transactions, metric.GeneratorLag, metric.ArrivalQueueing} {
		a.txnTotals = append(a.txnTotals, a.cat.total(name))
	}
	for i, s := range a.cat.slos {
		if s.Metric == metric.TransactionDuration {
			a.txnSLOs = append(a.txnSLOs, i)
		}
	}
	return a
}

// start gives the aggregate the common t0.
func (a *aggregate) start(t0 time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t0 = t0
}

// add folds samples in.
func (a *aggregate) add(containers []metrics.SampleContainer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range containers {
		switch c := c.(type) {
		case *arrivals.Transaction:
			a.transaction(c)
		case arrivals.Scheduled:
			a.bucket(a.t0.Unix()+c.Second).count(a.own.scheduled, float64(c.Slots))
		case *httpext.Trail:
			failed := c.Failed.Valid && c.Failed.Bool
			if failed {
				vu, _ := c.Tags.Get(arrivals.VUTag)
				a.failing[vu] = true
			}
			a.samples(c.GetSamples(), failed)
			a.follow(c)
		default:
			a.samples(c.GetSamples(), false)
		}
	}
}

// maxRedirects is how many redirects k6 follows unless it is told otherwise.
const maxRedirects = 10

// follow fails the transaction that a target leads in circles: k6 gives it the
// last redirect as its answer, and calls that a success.
func (a *aggregate) follow(c *httpext.Trail) {
	redirect := a.cat.last.redirect
	if a.unled || !redirect && len(a.led) == 0 {
		return
	}
	vu, _ := c.Tags.Get(arrivals.VUTag)
	if !redirect {
		delete(a.led, vu)
	} else if a.led[vu]++; a.led[vu] > maxRedirects {
		a.failing[vu] = true
	}
}

// transaction books one slot of the schedule under its scheduled second.
func (a *aggregate) transaction(t *arrivals.Transaction) {
	outcome := t.Outcome
	delete(a.led, t.VU)
	if a.failing[t.VU] {
		delete(a.failing, t.VU)
		if outcome == arrivals.Completed {
			outcome = arrivals.Failed
		}
	}
	if a.first == nil || t.Due < a.first.Due {
		a.first = t
	}
	b := a.bucket(a.t0.Unix() + int64(t.Due/time.Second))
	latency := milliseconds(t.Latency)
	b.observe(a.own.duration, latency)
	b.count(a.own.outcomes[outcome], 1)
	b.observe(a.own.lag, milliseconds(t.Lag))
	b.observe(a.own.queueing, milliseconds(t.Queueing))
	if t.Lag > a.lagLimit {
		b.count(a.own.late, 1)
	}
	if outcome == arrivals.Dropped && t.Lag > t.Queueing {
		b.count(a.own.lost, 1)
	}
	for _, i := range a.txnSLOs {
		a.judge(b, i, outcome != arrivals.Completed || a.cat.slos[i].Violates(latency))
	}
	for _, total := range a.txnTotals {
		*total++
	}
}

// samples books ordinary samples under the second in which they ended.
func (a *aggregate) samples(samples []metrics.Sample, failedRequest bool) {
	var b *bucket
	var at time.Time
	for i := range samples {
		s := &samples[i]
		if b == nil || s.Time != at {
			b, at = a.bucket(a.second(s.Time)), s.Time
		}
		to := a.cat.find(s.TimeSeries)
		*to.total++
		switch to.kind {
		case metrics.Rate:
			b.count(to.index, 1)
			hit := 0.0
			if s.Value != 0 {
				hit = 1
			}
			b.count(to.hits, hit)
		case metrics.Trend:
			b.observe(to.index, s.Value)
		case metrics.Gauge:
			b.set(to.index, s.Value)
		default:
			b.count(to.index, s.Value)
			if s.Metric.Name == acknowledgedMetric {
				a.acknowledge(s)
			}
		}
		for _, slo := range to.slos {
			failed := failedRequest && isRequestDuration(s.Metric.Name)
			a.judge(b, slo, failed || a.cat.slos[slo].Violates(s.Value))
		}
	}
}

// judge counts a sample for an SLO.
func (a *aggregate) judge(b *bucket, slo int, violates bool) {
	b.count(a.cat.judged[slo], 1)
	broken := 0.0
	if violates {
		broken = 1
	}
	b.count(a.cat.broken[slo], broken)
}

func (a *aggregate) acknowledge(s *metrics.Sample) {
	if id, ok := s.Metadata[acknowledgedKey]; ok {
		a.entries = append(a.entries, ledger.Entry{Hash: ledger.HashOf(a.run, id), Millis: s.Time.UnixMilli()})
	}
}

// second is the unix second of a sample. After the start it follows the
// monotonic clock from t0, so that a step of the wall clock moves nothing.
func (a *aggregate) second(t time.Time) int64 {
	if a.t0.IsZero() {
		return t.Unix()
	}
	since := t.Sub(a.t0)
	if since < 0 {
		since -= time.Second - 1 // round down
	}
	return a.t0.Unix() + int64(since/time.Second)
}

func (a *aggregate) bucket(second int64) *bucket {
	if b, ok := a.seconds[second]; ok {
		return b
	}
	var b *bucket
	if n := len(a.free); n > 0 {
		b, a.free = a.free[n-1], a.free[:n-1]
	} else {
		b = &bucket{}
	}
	a.seconds[second] = b
	return b
}

func (b *bucket) grow(i int) {
	for len(b.values) <= i {
		b.values, b.hists, b.touched = append(b.values, 0), append(b.hists, nil), append(b.touched, false)
	}
	b.touched[i] = true
}

func (b *bucket) count(i int, v float64) {
	b.grow(i)
	b.values[i] += v
}

func (b *bucket) set(i int, v float64) {
	b.grow(i)
	b.values[i] = v
}

func (b *bucket) observe(i int, v float64) {
	b.grow(i)
	if b.hists[i] == nil {
		b.hists[i] = &metric.Hist{}
	}
	b.hists[i].Record(v, 1)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
