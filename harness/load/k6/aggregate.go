package k6

import (
	"slices"
	"sync"
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"

	"assay/harness/load/arrivals"
	"assay/harness/load/sql"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
)

// acknowledgedMetric is the counter by which scenarios/lib/ledger.js acknowledges;
// the identity is in its metadata.
const (
	acknowledgedMetric = "ledger_acknowledged"
	acknowledgedKey    = "ledger_id"
)

// aggregate folds samples into one-second buckets. One goroutine adds samples, those
// of each VU in order; another one may take the buckets.
type aggregate struct {
	run  string
	seed uint64

	mu        sync.Mutex
	t0        time.Time     // with its monotonic reading; zero until the start
	common    time.Time     // the same instant by the coordinator's clock, which all seconds count by
	offset    time.Duration // by which this machine's clock is ahead of it
	index     *seriesIndex
	flows     map[string]*flow  // by k6's scenario
	seconds   map[int64]*bucket // by unix second
	free      []*bucket
	now       time.Duration         // since t0, at the samples that are being added
	vus       map[string]*vu        // by name
	redirects bool                  // the script sets its own limit on redirects
	entries   []ledger.Entry        // acknowledged since the last take
	stray     bool                  // something was acknowledged outside of the flows
	first     *arrivals.Transaction // of the earliest slot so far
	txnTotals []*int64              // totals to which a transaction adds
	examples  examples
	scratch   []reason
}

// flow is what a transaction of one scenario of k6 counts in.
type flow struct {
	number int // in the order of the session, from 0
	Flow
	txnSeries
	slos []int // of transaction_duration
}

// txnSeries are the series of transactions.
type txnSeries struct {
	duration, scheduled, ended, lag, displaced, lost, undone, queueing, stall, open int
	outcomes                                                                        [4]int
}

// bucket is one second so far: values and histograms by series.
type bucket struct {
	values  []float64
	hists   []*metric.Hist
	touched []bool
	// examples are exemplars by series, few.
	examples map[int]*kept
}

func newAggregate(s Session) *aggregate {
	a := &aggregate{
		run: s.Run, seed: s.Seed, flows: map[string]*flow{},
		index: newSeriesIndex(s), seconds: map[int64]*bucket{}, vus: map[string]*vu{},
		examples: examples{map[reason]*given{}},
	}
	for i, f := range s.Flows {
		a.flows[f.Scenario] = a.newFlow(i, f)
	}
	for _, name := range []string{metric.TransactionDuration, metric.Transactions, metric.GeneratorLag, metric.ArrivalQueueing} {
		a.txnTotals = append(a.txnTotals, a.index.total(name))
	}
	return a
}

func (a *aggregate) newFlow(number int, s Flow) *flow {
	f := &flow{number: number, Flow: s}
	counter := func(name string, labels ...string) int {
		return a.index.add(metric.Of(name, append(labels, "scenario", s.Scenario)...), metric.Counter)
	}
	hist := func(name string) int {
		return a.index.add(metric.Of(name, "scenario", s.Scenario), metric.Histogram)
	}
	f.txnSeries = txnSeries{
		duration: hist(metric.TransactionDuration), scheduled: counter(metric.TransactionsScheduled),
		ended: counter(metric.EndedTransactions), lag: hist(metric.GeneratorLag), displaced: counter(metric.GeneratorDisplaced),
		lost: counter(metric.GeneratorDropped), undone: counter(metric.GeneratorUndone),
		queueing: hist(metric.ArrivalQueueing), stall: counter(metric.GeneratorStall), open: hist(metric.OpenRequests),
	}
	for i, name := range metric.Outcomes {
		f.outcomes[i] = counter(metric.Transactions, "outcome", name)
	}
	for i, slo := range a.index.slos {
		if slo.OfTransactions() && a.index.of[i] == s.Scenario {
			f.slos = append(f.slos, i)
		}
	}
	return f
}

// start sets t0, by this process's clock and by the coordinator's.
func (a *aggregate) start(t0, common time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t0, a.common = t0, common
}

// add adds samples.
func (a *aggregate) add(containers []metrics.SampleContainer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = time.Since(a.t0)
	for _, c := range containers {
		switch c := c.(type) {
		case *arrivals.TransactionStart:
			a.vu(c.VU).begin(a.secondOf(c.Due), c)
		case *arrivals.Transaction:
			a.transaction(c)
		case arrivals.Scheduled:
			a.bucket(a.common.Unix()+c.Second).count(a.flows[c.Scenario].scheduled, float64(c.Slots))
		case arrivals.Stall:
			a.stall(c)
		case arrivals.Pause:
			a.vu(c.VU).paused(c)
		case *httpext.Trail:
			a.request(c)
		default:
			all := c.GetSamples()
			for i := range all {
				a.sample(&all[i], nil)
			}
		}
	}
}

// transaction counts one slot of the schedule in its scheduled second.
func (a *aggregate) transaction(t *arrivals.Transaction) {
	v := &vu{}
	if t.VU != "" {
		v = a.vu(t.VU)
		defer v.end()
	}
	f, outcome := a.flows[t.Scenario], t.Outcome
	if v.failed && outcome == arrivals.Completed {
		outcome = arrivals.Failed
	}
	if a.first == nil || t.Due < a.first.Due {
		a.first = t
	}
	b := a.bucket(a.secondOf(t.Due))
	latency := milliseconds(t.Latency)
	b.observe(f.duration, latency)
	b.count(f.outcomes[outcome], 1)
	if outcome == arrivals.Completed {
		a.bucket(a.secondOf(t.Due+t.Latency+t.Think)).count(f.ended, 1)
	}
	if class := transactionClass(outcome, v); class != "" {
		i := a.index.errorClass(metric.AtClient, class)
		b.count(i, 1)
		v.err(i)
	}
	b.observe(f.lag, milliseconds(t.Lag))
	b.observe(f.queueing, milliseconds(t.Queueing))
	if t.Lag > f.DisplacedAfter {
		b.count(f.displaced, 1)
	}
	droppedByGenerator := outcome == arrivals.Dropped && t.Lag > t.Queueing
	if droppedByGenerator {
		b.count(f.lost, 1)
	}
	cleared := a.withoutGenerator(t, v)
	stillFailed := false // not completed, even when cleared of the generator's share
	switch outcome {
	case arrivals.Failed:
		stillFailed = !v.failedByGenerator()
	case arrivals.TimedOut:
		stillFailed = cleared > f.Timeout
	case arrivals.Dropped:
		stillFailed = !droppedByGenerator
	}
	if outcome != arrivals.Completed {
		b.count(f.undone, boolToFloat(!stillFailed))
	}
	for _, i := range f.slos {
		slo := a.index.slos[i]
		measured := outcome != arrivals.Completed || slo.Violates(latency)
		if measured {
			v.violate(i)
		}
		a.judge(b, i, measured,
			stillFailed || !droppedByGenerator && slo.Violates(milliseconds(cleared)))
	}
	for _, total := range a.txnTotals {
		*total++
	}
	a.example(b, f.duration, t, outcome, v)
	if t.Interrupted { // k6 does not report a request that is open when the run ends
		b.observe(f.open, milliseconds(t.Due+t.Latency+t.Think-v.last))
	}
}

// wakeups is the number of wake-ups per request that a generator short of CPU delays:
// the goroutine that sends it, the one that reads the response (net/http has one of
// each per connection), and the VU that waits for it.
const wakeups = 3

// withoutGenerator is a transaction's latency without the generator's share: its lag at the
// start, and its stalls while the transaction ran and did not pause.
func (a *aggregate) withoutGenerator(t *arrivals.Transaction, v *vu) time.Duration {
	if t.Outcome == arrivals.Dropped {
		return t.Latency
	}
	start, end := t.Due+t.Lag+t.Queueing, t.Due+t.Latency+t.Think
	return max(0, t.Latency-t.Lag-t.Stalls.Share(start, end, v.pauses, wakeups*(1+v.requests), a.now))
}

// stall counts a stall of the generator in the seconds that it covers.
func (a *aggregate) stall(s arrivals.Stall) {
	for from := s.From; from < s.To; {
		to := min(s.To, from.Truncate(time.Second)+time.Second)
		a.bucket(a.secondOf(from)).count(a.flows[s.Scenario].stall, milliseconds(to-from))
		from = to
	}
}

// request adds the samples of one request.
func (a *aggregate) request(c *httpext.Trail) {
	r := requestResult{failed: c.Failed.Valid && c.Failed.Bool}
	all := c.GetSamples()
	if len(all) == 0 {
		return
	}
	a.index.find(all[0].TimeSeries, a)
	tags, second := a.index.last, a.second(c.EndTime)
	if v := tags.vu; v != nil && v.inTransaction {
		second = v.second
		end := c.EndTime.Sub(a.t0)
		r.stalled = v.stalls.Share(end-c.Blocked-c.ConnDuration-c.Duration, end, nil, wakeups, a.now)
		r.byGenerator = r.failed && tags.unanswered && r.stalled > 0
		if v.request(end, r, tags.redirect && !a.redirects) {
			i := a.index.errorClass(metric.AtClient, metric.ErrorRedirects)
			a.bucket(second).count(i, 1)
			v.err(i)
		}
	}
	if r.failed {
		if tags.class < 0 {
			tags.class = a.index.requestClass(tags.tags)
		}
		a.bucket(second).count(tags.class, 1)
		if tags.vu != nil {
			tags.vu.err(tags.class)
		}
	}
	for i := range all {
		a.sample(&all[i], &r)
	}
}

// sample counts a sample in the second in which its VU's transaction was scheduled,
// or, outside of a transaction, in its own second. of is the request that it
// measures, or nil.
func (a *aggregate) sample(s *metrics.Sample, of *requestResult) {
	to := a.index.find(s.TimeSeries, a)
	v := a.index.last.vu
	second, value := a.second(s.Time), s.Value
	var pauses []arrivals.Pause // that the value is without
	if to.span && v != nil {
		pauses = v.pauses
		end := s.Time.Sub(a.t0)
		value -= milliseconds(arrivals.PausedIn(pauses, end-duration(s.Value), end))
	}
	if to.ended >= 0 {
		a.bucket(second).count(to.ended, value)
	}
	if v != nil && v.inTransaction {
		second = v.second
	}
	b := a.bucket(second)
	*to.total++
	switch to.kind {
	case metrics.Rate:
		b.count(to.index, 1)
		hit := 0.0
		if value != 0 {
			hit = 1
		}
		b.count(to.occurred, hit)
	case metrics.Trend:
		b.observe(to.index, value)
	case metrics.Gauge:
		b.set(to.index, value)
	default:
		b.count(to.index, value)
		if to.class >= 0 {
			b.count(to.class, value)
		}
		switch s.Metric.Name {
		case acknowledgedMetric:
			a.acknowledge(s, to.flow)
		case metric.ErrorsByClass, sql.ErrorsMetric:
			if v != nil {
				v.classified = true
				class := to.class
				if class < 0 { // the counter is by class itself
					class = to.index
				}
				v.err(class)
			}
		}
	}
	if len(to.slos) == 0 {
		return
	}
	failed, byGenerator, cleared := false, false, value
	switch {
	case of == nil && v != nil && v.inTransaction && to.kind == metrics.Rate:
		byGenerator = v.failedByGenerator() // e.g. a check of a missing response
	case of != nil && to.kind == metrics.Rate && of.byGenerator:
		cleared = 0
	case of != nil && to.kind == metrics.Trend:
		failed = of.failed && isRequestDuration(s.Metric.Name)
		cleared = max(0, value-milliseconds(of.stalled))
	case v != nil && v.inTransaction && to.kind == metrics.Trend && s.Metric.Contains == metrics.Time:
		end := s.Time.Sub(a.t0)
		stalled := v.stalls.Share(end-duration(s.Value), end, pauses, wakeups*(1+v.requests), a.now)
		cleared = max(0, value-milliseconds(stalled))
	}
	for _, i := range to.slos {
		slo := a.index.slos[i]
		measured := failed || slo.Violates(value)
		if measured && v != nil && v.inTransaction {
			v.violate(i)
		}
		a.judge(b, i, measured, !byGenerator && (failed && !of.byGenerator || slo.Violates(cleared)))
	}
}

// judge counts a sample of an SLO, whether it violates the SLO as measured, and
// whether it still does when cleared of the generator's share.
func (a *aggregate) judge(b *bucket, slo int, measured, cleared bool) {
	b.count(a.index.judged[slo], 1)
	b.count(a.index.broken[slo], boolToFloat(measured))
	b.count(a.index.cleared[slo], boolToFloat(measured && cleared))
}

func boolToFloat(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// acknowledge keeps an identity for the ledger of its flow. One that belongs to no flow
// would be in no ledger, or missing in another flow's.
func (a *aggregate) acknowledge(s *metrics.Sample, flow int) {
	id, ok := s.Metadata[acknowledgedKey]
	switch {
	case !ok:
	case flow == outside:
		a.stray = a.stray || slices.Contains(a.index.ledgers, true)
	case a.index.ledgers[flow]:
		a.entries = append(a.entries, ledger.Entry{Hash: ledger.HashOf(a.run, id), Millis: a.onCommonClock(s.Time).UnixMilli(), Flow: flow})
	}
}

// second is the unix second of a time.
func (a *aggregate) second(t time.Time) int64 { return a.onCommonClock(t).Unix() }

// onCommonClock is a time by the coordinator's clock. After the start it counts from t0
// by the monotonic clock, so that neither a step of this machine's clock nor its offset
// from the coordinator's has an effect.
func (a *aggregate) onCommonClock(t time.Time) time.Time {
	if a.t0.IsZero() {
		return t.Add(-a.offset)
	}
	return a.common.Add(t.Sub(a.t0))
}

// secondOf is the unix second of an instant since t0.
func (a *aggregate) secondOf(t time.Duration) int64 { return a.common.Unix() + int64(t/time.Second) }

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

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
