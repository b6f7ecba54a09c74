package k6

import (
	"cmp"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
)

// transaction counts one slot of the schedule in its scheduled second.
func (a *aggregate) transaction(t *arrivals.Transaction) {
	v := &vu{}
	if t.VU != "" {
		v = a.vu(t.VU)
		defer v.end()
	}
	f := a.flows[t.Scenario]
	a.apportion(t, v, f)
	outcome := t.Outcome
	if v.failed && outcome == arrivals.Completed {
		outcome = arrivals.Failed
	}
	if a.first == nil || t.Due < a.first.Due {
		a.first = t
	}
	b := a.bucket(a.secondOf(t.Due))
	latency := milliseconds(t.Latency)
	series := a.named(f, v.named)
	b.observe(series.duration, latency)
	b.count(series.outcomes[outcome], 1)
	if outcome == arrivals.Completed {
		a.bucket(a.secondOf(t.Due+t.Latency+t.Think)).count(f.ended, 1)
		if v.classified {
			b.count(f.caught, 1)
		}
		if !v.sent {
			b.count(f.silent, 1)
		}
		if v.asked && !v.heard {
			b.count(f.unheard, 1)
		}
	}
	if class := transactionClass(outcome, v); class != "" {
		i := a.index.errorClass(t.Scenario, metric.AtClient, class)
		b.count(i, 1)
		v.noteError(i)
	}
	if v.timed {
		b.observe(f.script, milliseconds(v.worked))
	}
	if t.Think > 0 {
		b.observe(f.think, milliseconds(t.Think))
	}
	b.observe(f.lag, milliseconds(t.Lag))
	b.observe(f.queueing, milliseconds(t.Queueing))
	// In an overload of the system a stall of the generator displaces nothing.
	if t.Lag > f.DisplacedAfter && t.Lag >= t.Queueing {
		b.count(f.displaced, 1)
	}
	droppedByGenerator := outcome == arrivals.Dropped && t.Lag > t.Queueing
	if droppedByGenerator {
		b.count(f.lost, 1)
	}
	unsent := t.Silent && !v.sent && !v.bytes && cmp.Or(v.lack, v.lacked) == ""
	if unsent {
		b.count(f.unsent[outcome], 1)
	}
	failedByScript := outcome == arrivals.Failed && (unsent || v.misasked && !v.systemFailed || t.OwnError && !v.failed && !v.classified && !v.checkFailed)
	if failedByScript {
		b.count(f.scriptFailed, 1)
	}
	cleared := a.withoutGenerator(t, v)
	stillFailed := false // not completed, even when cleared of the share of generator and script
	switch outcome {
	case arrivals.Failed:
		stillFailed = !v.failedByGenerator() && !failedByScript
	case arrivals.TimedOut:
		stillFailed = cleared > f.Timeout && !unsent
	case arrivals.Dropped:
		stillFailed = !droppedByGenerator
	}
	if outcome != arrivals.Completed {
		b.count(f.undone, boolToFloat(!stillFailed))
	}
	if lack := cmp.Or(v.lack, v.lacked); outcome == arrivals.Failed && !stillFailed && lack != "" {
		b.count(a.index.lackSeries(t.Scenario, lack), 1)
	}
	for _, i := range f.slos {
		slo := &a.index.slos[i]
		measured := outcome != arrivals.Completed || slo.Violates(latency)
		if measured {
			v.noteViolation(i)
		}
		slo.judge(b, measured,
			stillFailed || !droppedByGenerator && !unsent && slo.Violates(milliseconds(cleared)))
	}
	for _, total := range a.txnTotals {
		*total++
	}
	a.example(b, series.duration, t, outcome, v)
	if t.Interrupted { // k6 does not report a request that is open when the run ends
		b.observe(f.open, milliseconds(t.Due+t.Latency+t.Think-v.last))
	}
}

// furtherNames is in the place of names beyond MaxSeries, which have series together.
const furtherNames = "\x00"

// named are the series of transactions whose iteration has a name.
func (a *aggregate) named(f *flow, name string) *namedSeries {
	known, key, value := f.byName[name], "name", maskTag(name)
	if known == nil && len(f.byName) > metric.MaxSeries {
		known, name, key, value = f.byName[furtherNames], furtherNames, metric.OverflowLabel, "true"
	}
	if known == nil {
		known = &namedSeries{duration: a.index.add(metric.Of(metric.TransactionDuration, "scenario", f.Scenario, key, value), metric.Histogram)}
		for i, outcome := range metric.Outcomes {
			known.outcomes[i] = a.index.add(metric.Of(metric.Transactions, "outcome", outcome, "scenario", f.Scenario, key, value), metric.Counter)
		}
		f.byName[name] = known
	}
	return known
}

// wakeups is the number of wake-ups per request that a generator short of CPU delays:
// the goroutine that sends it, the one that reads the response (net/http has one of
// each per connection), and the VU that waits for it.
const wakeups = 3

// withoutGenerator is a transaction's latency without the generator's share: its lag at the
// start, the work of its script, and its stalls while the transaction ran and did not pause.
func (a *aggregate) withoutGenerator(t *arrivals.Transaction, v *vu) time.Duration {
	if t.Outcome == arrivals.Dropped {
		return t.Latency
	}
	start, end := t.Due+t.Lag+t.Queueing, t.Due+t.Latency+t.Think
	return max(0, t.Latency-t.Lag-a.excused(v, t.Stalls, start, end, v.pauses))
}

// maxRedirects is how many redirects k6 follows by default.
const maxRedirects = 10

// vu is the state of a VU's current transaction.
type vu struct {
	scenario      string // scenario of the VU's transactions; empty: there was none
	named         string // tag name of its iteration; empty: the script has set none
	inTransaction bool
	second        int64 // unix second in which it was scheduled
	stalls        *arrivals.Stalls
	last          time.Duration // end of its last request, or else its begin; since t0
	failed        bool          // a request failed
	systemFailed  bool          // a request failed, and not for a stall of the generator
	sent          bool          // it sent a request or a statement
	misasked      bool          // its script asked for what is no request
	bytes         bool          // k6 has sent bytes for it, or a browser may have
	asked, heard  bool          // it sent messages by WebSockets, and received some
	checkFailed   bool          // a check of the script failed
	classified    bool          // the script, or the module k6/x/assay/sql, has named the class of an error
	requests      int           // number of requests that have ended
	redirects     int           // in a row
	pauses        []arrivals.Pause
	waits
	working  []arrivals.Pause // times in which its script worked; known once it has ended
	worked   time.Duration
	timed    bool             // they are known
	byScript time.Duration    // by how much the work of earlier transactions has delayed it
	deferred []metrics.Sample // times of parts of it, which wait for its end
	settled  bool             // nothing of it is deferred any more
	lack     string           // class of the first error for which the generator is to blame

	// Without the work of its script the VU would have been free at this instant; not known
	// before its first transaction has ended.
	served bool
	free   time.Duration

	violated []int // SLOs that it, or one of its requests, violates
	erred    bool  // it has an error of a class
	class    int   // series of the class of its first error
}

// requestResult is the outcome of a request.
type requestResult struct {
	failed      bool
	excused     *int          // series of its excuse, as it has not failed although its status is a failure; nil: it has none
	byGenerator bool          // it failed without a response while the generator stalled for a tenth of its time, or for what it lacks
	lacked      string        // class of the latter; empty: none
	misasked    bool          // nothing was sent, as what the script asked for is no request
	stalled     time.Duration // time for which the generator stalled while it was open
}

// vu returns the VU with this name.
func (a *aggregate) vu(name string) *vu {
	v := a.vus[name]
	if v == nil {
		v = &vu{}
		a.vus[name] = v
	}
	return v
}

func (v *vu) begin(second int64, t *arrivals.TransactionStart) {
	v.end()
	v.scenario, v.inTransaction, v.second, v.stalls = t.Scenario, true, second, t.Stalls
	v.last, v.byScript = t.Due+t.Lag+t.Queueing, v.queued(t)
}

// paused adds a pause of the script, which is not a part of what it measures.
func (v *vu) paused(p arrivals.Pause) {
	v.pauses = append(v.pauses, p)
	v.last = max(v.last, p.To)
}

func (v *vu) end() {
	v.waits.reset()
	*v = vu{
		scenario: v.scenario, violated: v.violated[:0], pauses: v.pauses[:0], deferred: v.deferred[:0],
		waits: v.waits, working: v.working[:0], served: v.served, free: v.free,
	}
}

// failedByGenerator reports whether the generator is to blame for each request that failed, or
// for an error that was not one of a request.
func (v *vu) failedByGenerator() bool { return !v.systemFailed && (v.failed || v.lacked != "") }

// lacks notes what the generator has not got; the first one counts.
func (v *vu) lacks(class string) { v.lack = cmp.Or(v.lack, class) }

// request counts a request that has ended. One in a redirect loop has failed: k6
// returns the last redirect as its response, and counts it as a success.
func (v *vu) request(end time.Duration, r requestResult, redirect bool) (loop bool) {
	v.last = end
	v.requests++
	v.sent, v.misasked = v.sent || !r.misasked, v.misasked || r.misasked
	if redirect {
		v.redirects++
	} else {
		v.redirects = 0
	}
	loop = v.redirects > maxRedirects
	v.failed = v.failed || r.failed || loop
	v.systemFailed = v.systemFailed || r.failed && !r.byGenerator || loop
	return loop
}
