package stub

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// decode reads a stub file of these endpoints and phases.
func decode(t testing.TB, endpoints, phases string) spec.StubFile {
	t.Helper()
	f, err := spec.DecodeStub("bank.json", fmt.Appendf(nil, `{"version": 1, "endpoints": [%s], "phases": [%s]}`, endpoints, phases))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newStub(t testing.TB, endpoints, phases string) *Stub {
	t.Helper()
	s, err := New(decode(t, endpoints, phases), "secret")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// calling calls without a network, so that a test can have a clock of its own. The call
// ends when ctx is done; status 0: without an answer.
func (s *Stub) calling(ctx context.Context, method, path, id string) (status int, took time.Duration) {
	defer func() {
		if left := recover(); left != nil {
			status = 0
		}
	}()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("{}"))
	if id != "" {
		r.Header.Set("Idempotency-Key", id)
	}
	w, begin := httptest.NewRecorder(), time.Now()
	defer func() { took = time.Since(begin) }()
	s.ServeHTTP(w, r)
	return w.Code, 0
}

// of returns what an endpoint has counted.
func (s *Stub) of(name string) stubs.Counts {
	for _, e := range s.State().Endpoints {
		if e.Endpoint == name {
			return e
		}
	}
	return stubs.Counts{}
}

const fixed = `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "20ms"}}`

// Phases begin and end by the run's clock, whose start the run tells: not before it is
// known, and not after the run has ended, or is not renewed for a minute.
func TestPhasesFollowTheRun(t *testing.T) {
	const phases = `{"name": "slow", "from": "60s", "for": "20s", "latency_factor": 20}, {"name": "off", "from": "100s", "errors": {"rate": 1, "status": 503}}`
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, fixed, phases)
		start := time.Now()
		since := func(offset time.Duration) *float64 {
			ms := float64(offset) / float64(time.Millisecond)
			return &ms
		}
		expect := func(status int, want time.Duration) {
			t.Helper()
			if got, took := s.calling(t.Context(), "POST", "/charge", ""); got != status || took != want {
				t.Errorf("%v after the start: status %d after %v, want %d after %v", time.Since(start), got, took, status, want)
			}
		}
		renew := func(at time.Duration, begin stubs.Begin) {
			t.Helper()
			time.Sleep(time.Until(start.Add(at)))
			if busy := s.session.begin(begin); busy != "" {
				t.Errorf("busy with %s", busy)
			}
		}
		expect(200, 20*time.Millisecond)
		renew(time.Second, stubs.Begin{Run: "a"})
		expect(200, 20*time.Millisecond)
		renew(30*time.Second, stubs.Begin{Run: "a", SinceMs: since(-10 * time.Second)}) // the load starts at 40 s
		renew(80*time.Second, stubs.Begin{Run: "a", SinceMs: since(55 * time.Second)})  // what is known stays
		time.Sleep(time.Until(start.Add(100*time.Second - time.Millisecond)))
		expect(200, 20*time.Millisecond) // it begins 1 ms before the phase
		expect(200, 400*time.Millisecond)
		if busy := s.session.begin(stubs.Begin{Run: "b"}); busy != "a" {
			t.Errorf("run b is taken while %q goes on", busy)
		}
		renew(119*time.Second, stubs.Begin{Run: "a", SinceMs: since(79 * time.Second)})
		expect(200, 400*time.Millisecond)
		time.Sleep(time.Until(start.Add(120*time.Second + time.Millisecond)))
		expect(200, 20*time.Millisecond)
		renew(141*time.Second, stubs.Begin{Run: "a", SinceMs: since(101 * time.Second)})
		expect(503, 20*time.Millisecond)
		s.session.end("b")
		expect(503, 20*time.Millisecond)
		s.session.end("a")
		expect(200, 20*time.Millisecond)

		// A run that begins late in a phase has it at once, and loses it when it is forgotten.
		begun := 210 * time.Second
		renew(begun, stubs.Begin{Run: "b", SinceMs: since(65 * time.Second)})
		expect(200, 400*time.Millisecond)
		time.Sleep(time.Until(start.Add(begun + 36*time.Second)))
		expect(503, 20*time.Millisecond)
		time.Sleep(time.Until(start.Add(begun + lease + time.Millisecond)))
		expect(200, 20*time.Millisecond)
		if got := s.State().Run; got != "" {
			t.Errorf("run %s goes on", got)
		}
	})
}

// Calls over the limit of concurrency wait, first come, first served. Those whose callers
// have left are worked on in their turn: a later call waits for them.
func TestAbandonedCallsAreWorkedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "100ms"}, "concurrency": 2}`, "")
		if busy := s.session.begin(stubs.Begin{Run: "r"}); busy != "" {
			t.Fatal(busy)
		}
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if status, took := s.calling(impatient, "POST", "/charge", "p"); status != 0 || took != 50*time.Millisecond {
					t.Errorf("an impatient call: status %d after %v", status, took)
				}
			})
		}
		synctest.Wait()
		if c := s.of("charge"); c.Queue != 18 || c.Working != 2 || c.Open != 20 {
			t.Errorf("with 20 calls: %+v", c)
		}
		calls.Wait()
		if c := s.of("charge"); c.Queue != 18 || c.Working != 2 || c.Open != 0 || c.Calls[metric.StubAbandoned] != 20 || c.CallMs != 20*50 {
			t.Errorf("when their callers have left: %+v", c)
		}
		// 50 ms of the first two calls are left, then 18 calls on two slots, then its own.
		if status, took := s.calling(t.Context(), "POST", "/charge", "q"); status != 200 || took != 50*time.Millisecond+9*100*time.Millisecond+100*time.Millisecond {
			t.Errorf("the call behind them: status %d after %v", status, took)
		}
		if c := s.of("charge"); c.Queue != 0 || c.Working != 0 || c.LeftMs != 20*100 || c.WorkMs != 100 || c.Calls[metric.StubAnswered] != 1 {
			t.Errorf("at the end: %+v", c)
		}
	})
}

// More slots in a phase begin what waits at once, and the capacity is exact: each call
// begins when the one before was to end.
func TestSlotsOfAPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "10ms"}, "concurrency": 1}`,
			`{"name": "wide", "from": "1s", "concurrency": 100}`)
		zero := 0.0
		s.session.begin(stubs.Begin{Run: "r", SinceMs: &zero})
		var calls sync.WaitGroup
		var mu sync.Mutex
		var took []time.Duration
		for range 150 {
			calls.Go(func() {
				_, d := s.calling(t.Context(), "POST", "/charge", "")
				mu.Lock()
				defer mu.Unlock()
				took = append(took, d)
			})
		}
		calls.Wait()
		slices.Sort(took)
		for i, d := range took {
			want := time.Duration(i+1) * 10 * time.Millisecond // one after the other
			if i >= 100 {
				want = time.Second + 10*time.Millisecond
			}
			if d != want {
				t.Fatalf("call %d took %v, want %v", i, d, want)
			}
		}
	})
}

// A timer that is late takes nothing from the capacity: the next call begins when the one
// before was to end.
func TestLateTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan time.Time, 2)
		s := station{slots: 1, factor: 1, finish: func(_ *work, end time.Time) { ends <- end }}
		start := time.Now()
		first := &work{arrived: start, latency: 10 * time.Millisecond, done: make(chan struct{})}
		late := &work{arrived: start.Add(12 * time.Millisecond), latency: 10 * time.Millisecond, done: make(chan struct{})}
		s.put(first)
		s.put(&work{arrived: start, latency: 10 * time.Millisecond, done: make(chan struct{})})
		s.put(late)
		end := <-ends
		time.Sleep(5 * time.Millisecond)
		s.end(first, end)
		if got := (<-ends).Sub(start); got != 20*time.Millisecond {
			t.Errorf("the second call was to end after %v", got)
		}
		// One that arrived in between begins when it arrived.
		s.working, s.queue = 1, []*work{late}
		s.end(&work{done: make(chan struct{})}, start.Add(10*time.Millisecond))
		if got := (<-ends).Sub(start); got != 22*time.Millisecond {
			t.Errorf("a call that arrived after 12 ms was to end after %v", got)
		}
	})
}

// latencies are those of a slow endpoint.
const latencies = `{"name": "charge", "match": "POST /charge", "latency": {"p50": "50ms", "p99": "200ms"}}`

// inOrder gathers times.
type inOrder struct {
	mu  sync.Mutex
	all []time.Duration
}

func (o *inOrder) add(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, d)
}

// drawn are the latencies of the first n calls, sorted.
func drawn(f spec.StubFile, n int) (all []time.Duration) {
	for i := range uint64(n) {
		all = append(all, draw(f.Seed, f.Endpoints[0], i+1).latency)
	}
	slices.Sort(all)
	return all
}

// However many calls come at once, each is answered exactly when it was drawn.
func TestLatenciesUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := decode(t, latencies, "")
		s := newStub(t, latencies, "")
		const callers, each = 150, 20
		var took inOrder
		var running sync.WaitGroup
		for range callers {
			running.Go(func() {
				for range each {
					status, d := s.calling(t.Context(), "POST", "/charge", "")
					if took.add(d); status != 200 {
						t.Errorf("status %d", status)
					}
				}
			})
		}
		running.Wait()
		slices.Sort(took.all)
		for i, want := range drawn(f, callers*each) {
			if took.all[i] != want {
				t.Fatalf("call %d takes %s, %s was drawn", i, took.all[i], want)
			}
		}
		for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.99: 200 * time.Millisecond} {
			if got := took.all[int(q*callers*each)]; got < want*85/100 || got > want*115/100 {
				t.Errorf("p%g is %s, the file says %s", 100*q, got, want)
			}
		}
	})
}

// The distribution is that of the file, and each failure has its share. Draws are seeded, so
// that the test cannot flake; the tolerance is about five standard errors.
func TestDraws(t *testing.T) {
	f := decode(t, `{"name": "charge", "match": "POST /charge", "latency": {"p50": "20ms", "p99": "80ms"}, "hang": 0.01, "reset": 0.02, "errors": [{"rate": 0.1, "status": 503}, {"rate": 0.05, "status": 402}]}`, "")
	const draws = 40_000
	var took []float64
	seen := map[string]int{}
	for n := range uint64(draws) {
		d := draw(f.Seed, f.Endpoints[0], n)
		took = append(took, float64(d.latency)/float64(time.Millisecond))
		seen[fmt.Sprint(d.outcome, " ", d.answer.Status)]++
		if draw(f.Seed, f.Endpoints[0], n).latency != d.latency {
			t.Fatalf("call %d has another latency the second time", n)
		}
	}
	slices.Sort(took)
	for q, want := range map[float64]float64{0.5: 20, 0.99: 80} {
		if got := took[int(q*draws)]; math.Abs(got/want-1) > 0.08 {
			t.Errorf("p%g is %.2f ms, want about %g", 100*q, got, want)
		}
	}
	for end, share := range map[string]float64{"hung 0": 0.01, "reset 0": 0.02, "error 503": 0.1, "error 402": 0.05, "answered 200": 0.82} {
		if got := float64(seen[end]) / draws; math.Abs(got-share) > 5*math.Sqrt(share*(1-share)/draws) {
			t.Errorf("%s: %.4f of the calls, want about %g", end, got, share)
		}
	}
	if a, b := draw(1, f.Endpoints[0], 7), draw(2, f.Endpoints[0], 7); a.latency == b.latency {
		t.Error("another seed gives the same latency")
	}
}

// The ledger has each call of the run once, and neither those before it nor those after its
// end. A run that begins again has the same draws.
func TestLedgerOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, `{"name": "charge", "match": "POST /charge", "latency": {"p50": "20ms", "p99": "80ms"}, "errors": {"rate": 0.3, "status": 503}}`, "")
		s.calling(t.Context(), "POST", "/charge", "before")
		var before []byte
		for _, run := range []string{"a", "b"} {
			s.session.begin(stubs.Begin{Run: run})
			for i := range 50 {
				s.calling(t.Context(), "POST", "/charge", fmt.Sprint("p", i/2))
			}
			s.calling(t.Context(), "GET", "/elsewhere", "")
			s.session.end(run)
			s.calling(t.Context(), "POST", "/charge", "after")
			var b strings.Builder
			if err := s.book.write(&b); err != nil {
				t.Fatal(err)
			}
			var ends []byte
			ids, outcomes := map[string]int{}, map[string]int64{}
			for line := range strings.Lines(b.String()) {
				var c stubs.Call
				if err := json.Unmarshal([]byte(line), &c); err != nil {
					t.Fatal(err)
				}
				ids[c.ID]++
				outcomes[c.Outcome]++
				ends = fmt.Appendf(ends, "%v %s %d\n", c.Ms, c.Outcome, c.Status)
			}
			if len(ids) != 26 || ids[""] != 1 || outcomes[metric.StubUnknown] != 1 || outcomes[metric.StubError] == 0 {
				t.Errorf("run %s: %d identities, outcomes %v", run, len(ids), outcomes)
			}
			if got := s.State().All(); got != 51 {
				t.Errorf("run %s: %d calls are counted", run, got)
			}
			if before != nil && string(before) != string(ends) {
				t.Error("the second run has other draws")
			}
			before = ends
		}
	})
}

func TestConflictingEndpoints(t *testing.T) {
	f := decode(t, `{"name": "a", "match": "GET /{x}/b", "latency": {"fixed": "0s"}}, {"name": "b", "match": "GET /a/{x}", "latency": {"fixed": "0s"}}`, "")
	if _, err := New(f, ""); err == nil || !strings.Contains(err.Error(), `endpoint b: "GET /a/{x}" conflicts`) {
		t.Errorf("%v", err)
	}
	if s := newStub(t, `{"name": "all", "match": "/", "latency": {"fixed": "0s"}}`, ""); len(s.State().Endpoints) != 1 {
		t.Errorf("%+v", s.State().Endpoints)
	}
	if status, _ := newStub(t, fixed, "").calling(t.Context(), http.MethodGet, "/charge", ""); status != http.StatusNotFound {
		t.Errorf("another method: status %d", status)
	}
}
