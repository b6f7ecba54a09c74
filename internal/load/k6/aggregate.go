package k6

import (
	"fmt"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// acknowledgedMetric is the counter by which scenarios/lib/ledger.js acknowledges;
// the identity is in its metadata.
const (
	acknowledgedMetric = "ledger_acknowledged"
	acknowledgedKey    = "ledger_id"
	roundedKey         = "ledger_rounded" // the identity is a number that JavaScript does not hold exactly
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
	refused   error                 // what the script does that ends the run: its samples are not what they are taken for
	first     *arrivals.Transaction // transaction of the earliest slot so far
	txnTotals []*int64              // totals to which a transaction adds
	examples  examples
	scratch   []reason
	spans     []span
	apart     []arrivals.Pause
}

// flow is what a transaction of one scenario of k6 counts in.
type flow struct {
	number int // in the order of the session, from 0
	Flow
	txnSeries
	byName   map[string]*namedSeries
	slos     []int   // indexes of the SLOs on transaction_duration
	byScript float64 // share of the latest delay behind busy VUs that the work of scripts caused
}

// txnSeries are the series of transactions.
type txnSeries struct {
	scheduled, ended, lag, displaced, lost, undone, queueing, stall, open int
	caught, silent, unheard, script, think, scriptFailed                  int
	unsent                                                                [4]int
}

// namedSeries are the series of transactions with one name.
type namedSeries struct {
	duration int
	outcomes [4]int
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
	f := &flow{number: number, Flow: s, byName: map[string]*namedSeries{}}
	counter := func(name string, labels ...string) int {
		return a.index.add(metric.Of(name, append(labels, "scenario", s.Scenario)...), metric.Counter)
	}
	hist := func(name string) int {
		return a.index.add(metric.Of(name, "scenario", s.Scenario), metric.Histogram)
	}
	f.txnSeries = txnSeries{
		scheduled: counter(metric.TransactionsScheduled),
		ended:     counter(metric.EndedTransactions), lag: hist(metric.GeneratorLag), displaced: counter(metric.GeneratorDisplaced),
		lost: counter(metric.GeneratorDropped), undone: counter(metric.GeneratorUndone), scriptFailed: counter(metric.ScriptFailed),
		queueing: hist(metric.ArrivalQueueing), stall: counter(metric.GeneratorStall), open: hist(metric.OpenRequests),
		caught: counter(metric.ExcusedTransactions, "reason", metric.CaughtError), silent: counter(metric.ExcusedTransactions, "reason", metric.NoRequest),
		unheard: counter(metric.ExcusedTransactions, "reason", metric.NoMessage),
		script:  hist(metric.ScriptTime), think: hist(metric.ThinkTime),
	}
	a.named(f, "")
	for i, name := range metric.Outcomes {
		f.unsent[i] = counter(metric.TransactionsUnsent, "outcome", name)
	}
	for i, slo := range a.index.slos {
		if slo.OfTransactions() && slo.scenario == s.Scenario {
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
			a.begin(c)
		case *arrivals.Transaction:
			a.transaction(c)
		case arrivals.Scheduled:
			a.bucket(a.common.Unix()+c.Second).count(a.flows[c.Scenario].scheduled, float64(c.Slots))
		case arrivals.Stall:
			a.stall(c)
		case arrivals.Pause:
			a.vu(c.VU).paused(c)
		case sql.Reported:
			a.statement(c)
		case arrivals.Wait:
			v := a.vu(c.VU)
			v.waits.add(c)
			if c.Failed != "" {
				a.unconnected(v, c)
			}
			if c.Kind != arrivals.AtTimer {
				v.last = max(v.last, c.To)
			}
		case *httpext.Trail:
			a.request(c)
		case metrics.Sample: // sample of a metric that the script has made, or of a gRPC request
			to := a.index.find(c.TimeSeries, a)
			if to.call != nil && to.call.Protocol == metric.GRPC && a.index.last.status != "" {
				all := []metrics.Sample{c}
				_, end, took := a.callOf(all)
				a.call(to.call, all, end, took)
				continue
			}
			if to.measured {
				a.refused = fmt.Errorf("the script adds samples to %s, which k6 itself measures: give its metric another name", c.Metric.Name)
			}
			a.sample(&c, nil)
		default:
			all := c.GetSamples()
			if of, end, took := a.callOf(all); of != nil {
				a.call(of, all, end, took)
				continue
			}
			for i := range all {
				a.sample(&all[i], nil)
			}
		}
	}
}

// begin begins a transaction of a VU.
func (a *aggregate) begin(t *arrivals.TransactionStart) {
	v := a.vu(t.VU)
	a.release(v)
	v.begin(a.secondOf(t.Due), t)
	if f := a.flows[t.Scenario]; t.Queueing > 0 {
		f.byScript = float64(v.byScript) / float64(t.Queueing)
	}
}

// stall counts a stall of the generator in the seconds that it covers.
func (a *aggregate) stall(s arrivals.Stall) {
	for from := s.From; from < s.To; {
		to := min(s.To, from.Truncate(time.Second)+time.Second)
		a.bucket(a.secondOf(from)).count(a.flows[s.Scenario].stall, milliseconds(to-from))
		from = to
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

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
