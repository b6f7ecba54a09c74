package stub

import (
	"context"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// maxBody bounds what is read of a call's body.
const maxBody = 1 << 20

// headerID names the header by which a caller that repeats a call says so.
const headerID = "Idempotency-Key"

// endpoint answers the calls of one endpoint of the file.
type endpoint struct {
	spec.StubEndpoint // as in the file, without a phase
	stub              *Stub

	mu      sync.Mutex
	now     spec.StubEndpoint // as in the present phase
	limiter *rate.Limiter     // nil: no limit
	station station
	calls   uint64 // calls of the run so far
	counts  stubs.Counts
	run     string    // id of the run that the counts are of
	since   time.Time // when these counts began
	frozen  bool      // the run has ended: nothing is counted
}

func newEndpoint(s *Stub, e spec.StubEndpoint) *endpoint {
	made := &endpoint{StubEndpoint: e, stub: s}
	made.station.finish = made.finish
	made.clear("", time.Now())
	made.change(e, 1, time.Now())
	return made
}

// clear begins the counts of a run. Calls that arrived before do not count in it.
func (e *endpoint) clear(run string, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls, e.run, e.since, e.frozen = 0, run, now, false
	e.counts = stubs.Counts{Endpoint: e.Name, Background: e.Background, Calls: map[string]int64{}}
}

// freeze ends the counts of a run.
func (e *endpoint) freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = true
}

// change lets the endpoint behave in another way from now on.
func (e *endpoint) change(as spec.StubEndpoint, latencyFactor float64, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case as.Limit == nil:
		e.limiter = nil
	case e.limiter == nil || e.now.Limit == nil || *e.now.Limit != *as.Limit:
		e.limiter = rate.NewLimiter(rate.Limit(as.Limit.Rate), as.Limit.Burst)
	}
	e.now = as
	e.station.change(as.Concurrency, latencyFactor, now)
}

// state is what the endpoint has counted.
func (e *endpoint) state() stubs.Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Calls = maps.Clone(e.counts.Calls)
	c.Queue, c.Working = int64(len(e.station.queue)), int64(e.station.working)
	return c
}

// arrival is a call that has arrived.
type arrival struct {
	at    time.Time
	fate  fate
	wait  time.Duration // until the rate limit would let it pass; 0: it does
	work  *work         // nil: none
	id    ledger.Hash   // zero: none
	begun time.Time     // start of the counts in which the call counts
}

// enter counts a call that has arrived; the lock is held.
func (e *endpoint) enter(r *http.Request, at time.Time) *arrival {
	a := &arrival{at: at, begun: e.since}
	if id := r.Header.Get(headerID); id != "" {
		a.id = ledger.HashOf(e.run, id)
	}
	e.calls++
	if !e.frozen {
		e.counts.Open++
	}
	return a
}

// arrive decides what becomes of a call, and begins the work on it.
func (e *endpoint) arrive(r *http.Request, at time.Time) *arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.enter(r, at)
	if e.limiter != nil && !e.limiter.AllowN(at, 1) {
		a.fate.outcome = metric.StubLimited
		a.wait = time.Duration(float64(time.Second) * max(0, 1-e.limiter.TokensAt(at)) / e.now.Limit.Rate)
		return a
	}
	a.fate = draw(e.stub.seed, e.now, e.calls)
	if a.fate.outcome != metric.StubHung {
		a.work = &work{arrived: at, latency: a.fate.latency, done: make(chan struct{})}
		e.station.put(a.work)
	}
	return a
}

// finish ends the work on a call.
func (e *endpoint) finish(w *work, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ms := float64(w.took) / float64(time.Millisecond)
	switch {
	case e.frozen || w.arrived.Before(e.since): // work of no run, or of the one before
	case w.left:
		e.counts.LeftMs += ms
	default:
		e.counts.WorkMs += ms
	}
	e.station.end(w, end)
}

// end counts a call that has ended.
func (e *endpoint) end(a *arrival, outcome string, status int) {
	took := time.Since(a.at)
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.work != nil && outcome == metric.StubAbandoned {
		a.work.left = true
	}
	if e.frozen || a.begun != e.since {
		return // a call of no run, or of the one before
	}
	e.counts.Open--
	e.counts.Calls[outcome]++
	e.counts.CallMs += float64(took) / float64(time.Millisecond)
	e.stub.book.add(call{id: a.id, at: a.at.UnixMilli(), took: took, endpoint: e, outcome: outcome, status: status})
}

// ServeHTTP answers a call.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	// net/http notices that the caller has left only once the body has been read.
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBody))
	a := e.arrive(r, at)
	if a.fate.outcome == metric.StubLimited {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(a.wait.Seconds())))))
		e.end(a, metric.StubLimited, http.StatusTooManyRequests)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if a.work == nil {
		e.hang(r.Context(), a)
		return
	}
	select {
	case <-a.work.done:
	case <-r.Context().Done():
		e.end(a, metric.StubAbandoned, 0)
		panic(http.ErrAbortHandler)
	}
	if a.fate.outcome == metric.StubReset {
		e.end(a, metric.StubReset, 0)
		reset(w)
		return
	}
	e.end(a, a.fate.outcome, a.fate.answer.Status)
	if a.fate.answer.Body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.fate.answer.Status)
	_, _ = w.Write(a.fate.answer.Body) // an error means that the caller has left
}

// hang holds a call until its caller leaves or the stub stops, and gives no answer.
func (e *endpoint) hang(ctx context.Context, a *arrival) {
	select {
	case <-ctx.Done():
	case <-e.stub.stopping:
	}
	e.end(a, metric.StubHung, 0)
	panic(http.ErrAbortHandler)
}

// reset resets the connection of a call: what its caller reads is ECONNRESET.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: its stream is reset
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
