package arrivals

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/mark"
)

// execution is one run of the schedule, shared by its VUs.
type execution struct {
	executor *arrivalsExecutor
	t0       time.Time
	out      chan<- metrics.SampleContainer
	tags     *metrics.TagSet
	stalls   Stalls
	leader   leader
	marks    *mark.Scenario // nil: requests are not marked

	ctx    context.Context // context of the run: those of VUs are done a little later
	cancel context.CancelFunc
	// stopped returns the time since t0 at which ctx was found done: later slots are not
	// due. It is the same at every call.
	stopped func() time.Duration

	exceptions atomic.Int64 // iterations that threw

	mu       sync.Mutex
	schedule *Schedule
	counter  *lib.SegmentedIndex
	closed   *lib.SegmentedIndex // numbers of transactions of the closed model
	err      error
	running  map[*Transaction]*Pauses // of the VU, by the transactions that have begun and not ended
}

func newExecution(ctx context.Context, cancel context.CancelFunc, e *arrivalsExecutor, t0 time.Time, out chan<- metrics.SampleContainer) *execution {
	r := &execution{
		executor: e, t0: t0, out: out, ctx: ctx, cancel: cancel, tags: e.tags(),
		schedule: e.newSchedule(),
		counter:  lib.NewSegmentedIndex(e.state.ExecutionTuple),
		closed:   lib.NewSegmentedIndex(e.state.ExecutionTuple),
		marks:    e.config.marks.Scenario(e.config.Name),
		stopped:  sync.OnceValue(func() time.Duration { return time.Since(t0) }),
		running:  map[*Transaction]*Pauses{},
	}
	r.stalls.lastBeat = time.Since(t0)
	return r
}

// nextSlot returns the next slot, and its number in the whole schedule.
func (r *execution) nextSlot() (due time.Duration, number int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due, ok = r.schedule.Next()
	return due, r.schedule.Number(), ok
}

// nextClosed is the number of the next transaction of the closed model, from 0 over all
// workers.
func (r *execution) nextClosed() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, number := r.closed.Next()
	return number - 1
}

// fail ends the run with an error; the first one counts.
func (r *execution) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.cancel()
}

func (r *execution) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// iteration counts iterations as k6 does: from 0, on this worker and on all.
func (r *execution) iteration() (local, global uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	scaled, unscaled := r.counter.Next()
	return uint64(scaled - 1), uint64(unscaled - 1)
}

// serve runs transactions on one VU until the schedule or ctx, the VU's, ends.
func (r *execution) serve(ctx context.Context, vu lib.ActiveVU, name string, pauses *Pauses) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	if r.executor.config.Parameters.Closed {
		r.serveClosed(ctx, vu, name, pauses, timer)
		return
	}
	r.serveSlots(ctx, vu, name, pauses, timer)
}

// serveClosed begins a transaction when the last one has ended (the closed model).
func (r *execution) serveClosed(ctx context.Context, vu lib.ActiveVU, name string, pauses *Pauses, timer *time.Timer) {
	for r.ctx.Err() == nil {
		due := time.Since(r.t0)
		if due >= r.executor.config.Parameters.Duration() {
			return
		}
		if due < 0 { // before the common start
			r.wait(ctx, timer, -due)
			continue
		}
		r.out <- Scheduled{Scenario: r.executor.config.Name, Second: int64(due / time.Second), Slots: 1}
		r.run(vu, r.newTransaction(due, name), r.nextClosed(), pauses)
	}
}

// serveSlots takes slots of the schedule (the open model).
func (r *execution) serveSlots(ctx context.Context, vu lib.ActiveVU, name string, pauses *Pauses, timer *time.Timer) {
	wake := make(chan struct{}, 1)
	for ctx.Err() == nil {
		idleSince := time.Since(r.t0)
		r.leader.acquire(ctx, wake)
		due, number, ok := r.nextSlot()
		if !ok {
			r.leader.release()
			return
		}
		t := r.newTransaction(due, name)
		now := time.Since(r.t0)
		switch {
		case now < due:
			r.wait(ctx, timer, due-now)
			now = time.Since(r.t0)
			t.Lag = max(0, now-due)
		case due >= idleSince: // the VU was idle when the slot fell due, and takes it late
			t.Lag = now - due
		default:
			t.Lag = r.stalls.lagOf(due, now)
			t.Queueing = now - due - t.Lag
		}
		r.leader.release()
		switch {
		case r.ctx.Err() != nil:
			if due <= r.stopped() {
				r.drop(t)
			}
		case now-due >= r.executor.config.Parameters.Timeout:
			r.drop(t)
		default:
			r.run(vu, t, number, pauses)
		}
	}
}

func (r *execution) newTransaction(due time.Duration, vu string) *Transaction {
	return &Transaction{Scenario: r.executor.config.Name, Due: due, VU: vu, Stalls: &r.stalls}
}

// wait sleeps until the slot is due or the run stops.
func (r *execution) wait(ctx context.Context, timer *time.Timer, d time.Duration) {
	r.stalls.onTime()
	timer.Reset(d)
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// waitUntil waits for the end of the schedule, even if its last slots have been
// served before: the seconds after them are judged too.
func (r *execution) waitUntil(end time.Duration) {
	select {
	case <-time.After(end - time.Since(r.t0)):
	case <-r.ctx.Done():
	}
}

// run runs one iteration, the transaction with this number, and reports it.
func (r *execution) run(vu lib.ActiveVU, t *Transaction, number int64, pauses *Pauses) {
	pauses.begin()
	t.pauses = pauses
	t.Trace = r.marks.Begin(t.VU, number)
	r.out <- (*TransactionStart)(t)
	r.mu.Lock()
	r.running[t] = pauses
	r.mu.Unlock()
	err := runOnce(vu)
	if !r.ended(t) {
		return
	}
	end := time.Now()
	t.Trace.End()
	t.Silent = pauses.sending.nothing()
	t.Think = pauses.took
	t.Latency = end.Sub(r.t0) - t.Due - t.Think
	interrupted, text, abort := r.ctx.Err() != nil, "", false
	if interrupted && t.Due > r.stopped() {
		return
	}
	t.Interrupted = interrupted
	switch {
	case interrupted || t.Latency > r.executor.config.Parameters.Timeout:
		t.Outcome = TimedOut
	case err != nil:
		t.Outcome = Failed
	}
	if err != nil && !interrupted {
		text, abort = describe(err)
		t.OwnError = ownError.MatchString(text)
	}
	r.report(t, end)
	if interrupted {
		r.executor.state.AddInterruptedIterations(1)
		return
	}
	r.executor.state.AddFullIterations(1)
	switch {
	case abort:
		r.fail(err)
	case err != nil:
		r.logException(text)
	}
}

// ended notes that a transaction does not run any more. False: it was abandoned before.
func (r *execution) ended(t *Transaction) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ran := r.running[t]
	delete(r.running, t)
	return ran
}

// abandon reports the transactions that go on although they were interrupted, and ends the
// run with an error: k6 ends under them.
func (r *execution) abandon() {
	r.fail(errStuck)
	r.mu.Lock()
	stuck := maps.Clone(r.running)
	clear(r.running)
	r.mu.Unlock()
	end := time.Now()
	for t, pauses := range stuck {
		if t.Due > r.stopped() {
			continue
		}
		t.Outcome, t.Interrupted, t.Latency, t.Silent = TimedOut, true, end.Sub(r.t0)-t.Due, pauses.sending.nothing()
		r.report(t, end)
	}
}

// errUnshowable is an exception that throws another one when it is looked at.
var errUnshowable = errors.New("the script has thrown something that cannot be shown")

// runOnce runs one iteration. k6 looks at what it throws outside of the script, where a
// further exception, as of a proxy, is a panic.
func runOnce(vu lib.ActiveVU) (err error) {
	defer func() {
		switch left := recover().(type) {
		case nil:
		case *sobek.Exception, *sobek.InterruptedError, *sobek.StackOverflowError, sobek.Value:
			err = errUnshowable
		default:
			panic(left)
		}
	}()
	return vu.RunOnce()
}

// maxLogged bounds the worker's log: a script may throw at every transaction.
const maxLogged = 1000

// ownError is how the text of an error begins that JavaScript itself throws: a mistake of the
// script, however the system answered. A SyntaxError is not: it is thrown by JSON.parse of an
// answer.
var ownError = regexp.MustCompile(`^(Uncaught \(in promise\) )?(TypeError|ReferenceError|RangeError|URIError|EvalError)\b`)

// logException logs a script's exception as k6's own executors do.
func (r *execution) logException(text string) {
	switch n := r.exceptions.Add(1); {
	case n > maxLogged:
	case n == maxLogged:
		r.executor.GetLogger().Errorf("%d iterations threw an exception; further ones are counted but not logged", n)
	default:
		r.executor.GetLogger().WithField("source", "stacktrace").Error(text)
	}
}

// describe is what a transaction's error says, and whether it is the script's test.abort().
// What a script throws may run the script again, as by its own toString(): what that throws
// is caught here, and k6 interrupts it at the end of the run.
func describe(err error) (text string, abort bool) {
	defer func() {
		if recover() != nil {
			text = errUnshowable.Error()
		}
	}()
	var exception errext.Exception
	switch {
	case errext.IsInterruptError(err):
		return "", true
	case errors.As(err, &exception):
		return exception.StackTrace(), false
	}
	return err.Error(), false
}

func (r *execution) drop(t *Transaction) {
	t.Outcome, t.VU, t.Latency = Dropped, "", r.executor.config.Parameters.Timeout
	r.report(t, time.Now())
}

func (r *execution) report(t *Transaction, end time.Time) {
	t.sample = metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: r.executor.metric, Tags: r.tags},
		Time:       end, Value: metrics.D(t.Latency),
	}
	r.out <- t
}

// dropUnserved reports the due slots that no VU took because all were busy until the
// run ended. It returns the end of the run, since t0.
func (r *execution) dropUnserved() (end time.Duration) {
	end = time.Since(r.t0)
	if r.ctx.Err() != nil {
		end = r.stopped()
	}
	for {
		due, _, ok := r.nextSlot()
		if !ok || due > end {
			return end
		}
		t := r.newTransaction(due, "")
		t.Lag = r.stalls.lagOf(due, end)
		t.Queueing = end - due - t.Lag
		r.drop(t)
	}
}

// startHeartbeat starts the heartbeat, with an echo or nil. stop counts the slots up to
// the end of the run, and stops both.
func (r *execution) startHeartbeat(echo *echo) (stop func(end time.Duration)) {
	done := make(chan time.Duration)
	var heartbeat crash.Group
	heartbeat.Go(func() {
		count := newSlotCount(r.executor.config.Name, r.executor.newSchedule())
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case end := <-done:
				echo.stop()
				r.reportStalls()
				count.upTo(end+1, r.out) // a slot due at the very end was due
				return
			case <-tick.C:
				now := time.Since(r.t0)
				r.stalls.beat(now)
				echo.send(now)
				r.reportStalls()
				if r.ctx.Err() != nil {
					continue // no slot is due after the end of the run
				}
				count.upTo(now.Truncate(time.Second), r.out)
			}
		}
	})
	return func(end time.Duration) { done <- end; heartbeat.Wait() }
}

func (r *execution) reportStalls() {
	for _, s := range r.stalls.unreported() {
		s.Scenario = r.executor.config.Name
		r.out <- s
	}
}
