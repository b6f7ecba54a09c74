//go:build live

package stub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// listen runs a stub at an address; empty: any. stop stops it, and returns what it counted.
func listen(t testing.TB, f spec.StubFile, token, address string) (base string, stop func() stubs.State) {
	t.Helper()
	return listenWith(t, Options{File: f, Listen: address, Token: token, Log: slog.New(slog.DiscardHandler)})
}

func listenWith(t testing.TB, o Options) (base string, stop func() stubs.State) {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	var state stubs.State
	go func() {
		var err error
		state, err = Run(ctx, o, func(addr string) { ready <- addr })
		ended <- err
	}()
	select {
	case addr := <-ready:
		base = "http://" + addr
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	stop = sync.OnceValue(func() stubs.State {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return state
	})
	t.Cleanup(func() { stop() })
	return base, stop
}

// client has as many connections as are needed.
func client(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// post makes one call. The body is "" if there was no answer.
func post(ctx context.Context, c *http.Client, to, id string) (status int, body string, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(`{"amount": 5}`))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Idempotency-Key", id)
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp.Header, err
}

// Each failure, as a client sees it.
func TestFailures(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	const route = `{"name": %q, "match": "POST /%[1]s", "latency": {"fixed": "1ms"}, %s}`
	var endpoints []string
	for name, how := range map[string]string{
		"ok":    `"status": 201, "body": {"status": "CAPTURED"}`,
		"error": `"errors": {"rate": 1, "status": 503, "body": {"error": "busy"}}`,
		"hang":  `"hang": 1`,
		"reset": `"reset": 1`,
		"limit": `"limit": {"rate": 0.01, "burst": 2}`,
	} {
		endpoints = append(endpoints, fmt.Sprintf(route, name, how))
	}
	base, stop := listen(t, decode(t, strings.Join(endpoints, ","), ""), "t", "")
	c, watch := client(t), stubs.NewClient("bank", base, "t")
	defer watch.Close()
	call := func(name string) (int, string, http.Header, error) { return post(t.Context(), c, base+"/"+name, "") }

	if status, body, header, err := call("ok"); status != 201 || body != `{"status":"CAPTURED"}` || header.Get("Content-Type") != "application/json" || err != nil {
		t.Errorf("ok: %d %s %v", status, body, err)
	}
	if status, body, _, err := call("error"); status != 503 || body != `{"error":"busy"}` || err != nil {
		t.Errorf("error: %d %s %v", status, body, err)
	}
	patient, leave := context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() { _, _, _, err := post(patient, c, base+"/hang", ""); hung <- err }()
	polltest.Until(t, "a call hangs", func() bool {
		s, err := watch.State(t.Context())
		return err == nil && slices.ContainsFunc(s.Endpoints, func(e stubs.Counts) bool { return e.Endpoint == "hang" && e.Open == 1 })
	})
	leave()
	if err := <-hung; !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v", err)
	}
	if _, _, _, err := call("reset"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
	for i := range 4 {
		status, _, header, err := call("limit")
		wait, _ := strconv.Atoi(header.Get("Retry-After")) // 100 s, but for the time that the calls take
		if i < 2 && (status != 200 || wait != 0) || i >= 2 && (status != 429 || wait < 40 || wait > 100) || err != nil {
			t.Errorf("call %d over the limit: %d, Retry-After %q, %v", i, status, header.Get("Retry-After"), err)
		}
	}
	if status, _, _, _ := call("elsewhere"); status != 404 {
		t.Errorf("no endpoint: %d", status)
	}
	want := map[string]int64{"ok answered": 1, "error error": 1, "hang hung": 1, "reset reset": 1, "limit answered": 2, "limit limited": 2, "unknown unknown": 1}
	got := map[string]int64{}
	for _, e := range stop().Endpoints {
		for outcome, n := range e.Calls {
			got[e.Endpoint+" "+outcome] = n
		}
		if e.Open != 0 {
			t.Errorf("%+v", e)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// A stub that stops lets the calls end that it works on, and cuts off those that hang.
func TestStop(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, `{"name": "slow", "match": "POST /slow", "latency": {"fixed": "3s"}}, {"name": "hang", "match": "POST /hang", "latency": {"fixed": "0s"}, "hang": 1}`, "")
	var log strings.Builder
	base, stop := listenWith(t, Options{File: f, Token: "t", Log: slog.New(slog.NewTextHandler(&log, nil))})
	c, watch := client(t), stubs.NewClient("bank", base, "t")
	defer watch.Close()
	var calls sync.WaitGroup
	arrived := func(name string, endpoint int) {
		polltest.Until(t, name+" has arrived", func() bool {
			s, err := watch.State(t.Context())
			return err == nil && s.Endpoints[endpoint].Open == 1
		})
	}
	calls.Go(func() {
		if _, _, _, err := post(t.Context(), c, base+"/hang", ""); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a call that hangs: %v", err)
		}
	})
	arrived("the call that hangs", 1)
	calls.Go(func() {
		if status, _, _, err := post(t.Context(), c, base+"/slow", ""); status != 200 || err != nil {
			t.Errorf("a call that is worked on: %d, %v", status, err)
		}
	})
	arrived("the call that is worked on", 0)
	state := stop()
	calls.Wait()
	if got := state.Endpoints; got[0].Calls[metric.StubAnswered] != 1 || got[1].Calls[metric.StubHung] != 1 || log.String() != "" {
		t.Errorf("counted %+v; logged %q", got, log.String())
	}
}

// No call is answered early, and the ledger has all of them with their times.
func TestLatencies(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, latencies, "")
	const callers, each = 50, 10
	base, _ := listen(t, f, "t", "")
	c := client(t)
	var took inOrder
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range each {
				begin := time.Now()
				if status, _, _, err := post(t.Context(), c, base+"/charge", ""); status != 200 || err != nil {
					t.Errorf("a call: %d, %v", status, err)
				}
				took.add(time.Since(begin))
			}
		})
	}
	running.Wait()
	var booked inOrder
	err := stubs.NewClient("bank", base, "t").Ledger(t.Context(), func(line []byte) error {
		var c stubs.Call
		err := json.Unmarshal(line, &c)
		booked.add(time.Duration(c.Ms * float64(time.Millisecond)))
		return err
	})
	if err != nil || len(booked.all) != callers*each || len(took.all) != callers*each {
		t.Fatalf("%d calls, %d in the ledger, %v", len(took.all), len(booked.all), err)
	}
	slices.Sort(took.all)
	slices.Sort(booked.all)
	for i, least := range drawn(f, callers*each) {
		// The ledger has ms with two decimals.
		if took.all[i] < booked.all[i]-10*time.Microsecond || booked.all[i] < least-10*time.Microsecond {
			t.Fatalf("call %d takes %s, %s in the ledger, and %s was drawn", i, took.all[i], booked.all[i], least)
		}
	}
}

// frames gathers what a collector sends.
type frames struct {
	mu  sync.Mutex
	all []metric.Frame
}

func (f *frames) sink(frame metric.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, frame)
	return nil
}

// sum adds up a counter over all frames and series with these labels.
func (f *frames) sum(name string, labels ...metric.Label) (n float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, frame := range f.all {
		for _, p := range frame.Points {
			if p.Series.Name == name && p.Series.Matches(labels) {
				n += p.Value
			}
		}
	}
	return n
}

const twoEndpoints = `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "5ms"}, "errors": {"rate": 0.5, "status": 503}},
	{"name": "inquiry", "match": "POST /inquiry", "latency": {"fixed": "0s"}, "background": true}`

const slowPhase = `{"name": "slow", "from": "0s", "for": "3600s", "endpoints": ["charge"], "latency_factor": 2}`

func collector(t *testing.T, base, run string, f spec.StubFile) *stubs.Collector {
	t.Helper()
	return stubs.New(stubs.Options{Name: "bank", Stub: spec.Stub{URL: base, File: "bank.json"}, Digest: f.Digest, Token: "t", Run: run})
}

// A run reads from a stub what its callers did: the calls of the frames are those that were
// made, as are those of the ledger, and a second run begins at 0.
func TestCollector(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, twoEndpoints, slowPhase)
	base, _ := listen(t, f, "t", "")
	c := client(t)
	for _, run := range []string{"a", "b"} {
		_, _, _, _ = post(t.Context(), c, base+"/charge", "of no run")
		one := collector(t, base, run, f)
		one.LoadStarts(time.Now())
		if err := errors.Join(one.Check(t.Context()), one.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		if err := collector(t, base, "c", f).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "serves another run: "+run) {
			t.Errorf("a second run at the same time: %v", err)
		}
		var got frames
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- one.Run(ctx, got.sink) }()
		statuses := map[int]int{}
		for i := range 60 {
			status, _, _, err := post(t.Context(), c, base+"/charge", fmt.Sprint("p", i%50))
			if err != nil {
				t.Fatal(err)
			}
			statuses[status]++
		}
		_, _, _, _ = post(t.Context(), c, base+"/inquiry", "")
		_, _, _, _ = post(t.Context(), c, base+"/nothing", "")
		polltest.Until(t, "some seconds are read", func() bool { return got.sum(metric.StubCalls) >= 62 })
		cancel()
		if err := errors.Join(<-ended, one.Close()); err != nil {
			t.Fatal(err)
		}
		label := func(key, value string) metric.Label { return metric.Label{Key: key, Value: value} }
		for outcome, want := range map[string]int{metric.StubAnswered: statuses[200], metric.StubError: statuses[503]} {
			if n := got.sum(metric.StubCalls, label("endpoint", "charge"), label("outcome", outcome), label("background", "false")); n != float64(want) || want == 0 {
				t.Errorf("%g calls %s, want %d", n, outcome, want)
			}
		}
		if n := got.sum(metric.StubCalls, label("background", "true"), label("stub", "bank")); n != 2 {
			t.Errorf("%g background calls", n)
		}
		if ms, work := got.sum(metric.StubCallTime, label("endpoint", "charge")), got.sum(metric.StubWorkTime, label("caller", "waiting")); math.Abs(work-600) > 1e-6 || ms < work {
			t.Errorf("calls take %g ms, and the work on them %g ms; want 60 x 10 in the phase", ms, work)
		}
		metrictest.Check(t, got.all...)
		metrictest.CheckStream(t, "stub/bank", got.all)
		if notes := one.Notes(); len(notes) > 0 {
			t.Errorf("notes %q", notes)
		}
		lines := 0
		l, err := one.Ledger(t.Context(), func([]byte) error { lines++; return nil })
		if err != nil || l.Calls != 62 || l.Repeated != 10 || l.Forgotten != 0 || lines != 62 {
			t.Errorf("ledger %+v, %d lines, %v", l, lines, err)
		}
		fact, ok := one.Fact()
		if !ok || fact.File.SHA256 != f.Digest || len(fact.Phases) != 1 || *fact.Phases[0].LatencyFactor != 2 || len(fact.Endpoints) != 3 || fact.Endpoints[0].Calls[metric.StubError] != int64(statuses[503]) {
			t.Errorf("fact %+v, %v", fact, ok)
		}
	}
}

// What keeps a run from beginning is said before it, with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, twoEndpoints, "")
	base, _ := listen(t, f, "t", "")
	closed, _ := listen(t, f, "", "")
	nobody, stop := listen(t, f, "t", "")
	stop()
	for name, c := range map[string]struct {
		change     func(*stubs.Options)
		want, next string
	}{
		"fit":         {func(*stubs.Options) {}, "", ""},
		"any file":    {func(o *stubs.Options) { o.Digest = "" }, "", ""},
		"other file":  {func(o *stubs.Options) { o.Digest = "sha256:0" }, "runs bank.json, whose content is not that of bank.json", "start it again"},
		"no token":    {func(o *stubs.Options) { o.Token = "" }, "no token to control it with", "set ASSAY_STUB_TOKEN"},
		"wrong token": {func(o *stubs.Options) { o.Token = "x" }, "refuses the token", "set ASSAY_STUB_TOKEN"},
		"none there":  {func(o *stubs.Options) { o.Stub.URL = closed }, "was started without a token", "start it with ASSAY_STUB_TOKEN set"},
		"not up":      {func(o *stubs.Options) { o.Stub.URL = nobody }, "does not answer at " + nobody, "assay stub FILE"},
		"other path":  {func(o *stubs.Options) { o.Stub.URL = base + "/charge" }, "is no stub", "check its URL"},
		"other host":  {func(o *stubs.Options) { o.Stub.URL = "http://bank.example" }, "neither on loopback nor on an allowed host", "--allow-target bank.example"},
	} {
		o := stubs.Options{Name: "bank", Stub: spec.Stub{URL: base, File: "bank.json"}, Digest: f.Digest, Token: "t", Run: "r"}
		c.change(&o)
		err := stubs.New(o).Check(t.Context())
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.next) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v (%s), want %s", name, err, hint.Of(err), c.want)
		}
	}
}

// A stub that is restarted during a run, or is gone, is said; a restarted one continues the
// run's phases.
func TestRestart(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, twoEndpoints, slowPhase)
	base, stop := listen(t, f, "t", "")
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	one := collector(t, base, "r", f)
	one.LoadStarts(time.Now().Add(-time.Minute))
	if err := one.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got frames
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx, got.sink) }()
	c := client(t)
	call := func() { _, _, _, _ = post(t.Context(), c, base+"/charge", "") }
	call()
	polltest.Until(t, "the first call is read", func() bool { return got.sum(metric.StubCalls) == 1 })
	stop()
	c.CloseIdleConnections()
	_, stop = listen(t, f, "t", u.Host)
	watch := stubs.NewClient("bank", base, "t")
	defer watch.Close()
	polltest.Until(t, "the run has begun again", func() bool { s, err := watch.State(t.Context()); return err == nil && s.Run == "r" })
	call()
	polltest.Until(t, "the second call is read", func() bool { return got.sum(metric.StubCalls) == 2 })
	if work := got.sum(metric.StubWorkTime); math.Abs(work-20) > 1e-6 {
		t.Errorf("the two calls took %g ms of work, want twice 10: the phase goes on", work)
	}
	// The load began a minute before.
	if notes := strings.Join(one.Notes(), "\n"); !regexp.MustCompile(`the stub bank was restarted ([6-9]|1\d)\d`).MatchString(notes) {
		t.Errorf("notes %q", notes)
	}
	stop()
	watch.Close()
	n := len(got.all)
	polltest.Until(t, "seconds pass without the stub", func() bool { got.mu.Lock(); defer got.mu.Unlock(); return len(got.all) > n+2 })
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("at its end: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if notes := strings.Join(one.Notes(), "\n"); !strings.Contains(notes, "did not answer for ") {
		t.Errorf("notes %q", notes)
	}
	if _, err := one.Ledger(t.Context(), func([]byte) error { return nil }); err == nil {
		t.Error("a ledger is read from a stub that is gone")
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	f := decode(t, twoEndpoints, "")
	base, _ := listen(t, f, "", "")
	taken := strings.TrimPrefix(base, "http://")
	for address, want := range map[string]string{"0.0.0.0:0": "not a loopback address", "nowhere": "want host:port", taken: "address already in use"} {
		_, err := Run(t.Context(), Options{File: f, Listen: address, Log: slog.New(slog.DiscardHandler)}, func(string) { t.Error("it listens") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
