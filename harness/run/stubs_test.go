package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/hint"
	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/lab/stub"
	"assay/harness/lab/target"
	"assay/harness/observe/collect/stubs"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/servers/process"
	"assay/harness/spec"
)

// stubCommand runs a stub in a process of its own: the test binary with this argument, the
// stub's file and its address.
const stubCommand = "stub"

const stubToken = "a token of the test"

func runStub() error {
	data, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	f, err := spec.DecodeStub(os.Args[2], data)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	_, err = stub.Run(ctx, stub.Options{File: f, Listen: os.Args[3], Token: os.Getenv(stubs.TokenEnv), Log: slog.New(slog.DiscardHandler)}, func(string) {})
	return err
}

// bank is a stub in a process of its own.
type bank struct {
	url, file string
	child     *process.Child
	client    *stubs.Client
}

// startBank starts a stub.
func startBank(t *testing.T, endpoints, phases string) *bank {
	t.Helper()
	b := &bank{file: filepath.Join(t.TempDir(), "bank.json")}
	if err := os.WriteFile(b.file, fmt.Appendf(nil, `{"version": 1, "endpoints": [%s], "phases": [%s]}`, endpoints, phases), 0o644); err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + process.Address(port)
	b.client = stubs.NewClient("bank", b.url, stubToken)
	b.start(t)
	t.Cleanup(func() { b.stop(t); b.client.Close() })
	return b
}

func (b *bank) start(t *testing.T) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, stubCommand, b.file, strings.TrimPrefix(b.url, "http://"))
	cmd.Env = append(os.Environ(), stubs.TokenEnv+"="+stubToken)
	if b.child, err = process.Start(cmd, process.Tied); err != nil {
		t.Fatal(err)
	}
	if err := b.child.Await(t.Context(), time.Minute, func(ctx context.Context) error { _, err := b.client.State(ctx); return err }); err != nil {
		t.Fatal(err)
	}
}

func (b *bank) stop(t *testing.T) {
	if err := b.child.Stop(20 * time.Second); err != nil {
		t.Error(err)
	}
}

// options are those of a run whose profile names the stub, against a service that calls it.
func (b *bank) options(t *testing.T, p spec.Profile) run.Options {
	t.Helper()
	o := options(t, p, getScript, b.caller(t))
	o.StubToken = stubToken
	o.Profile.Stubs = map[string]spec.Stub{"bank": {URL: b.url, File: "stubs/bank.json"}}
	// Both files are below the folder of the thresholds.
	if err := os.CopyFS(filepath.Join(filepath.Dir(o.File.Path), "stubs"), os.DirFS(filepath.Dir(b.file))); err != nil {
		t.Fatal(err)
	}
	return o
}

// caller is a service without metrics of its own, which makes a call to a stub for each
// request.
func (b *bank) caller(t *testing.T) string {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, b.url+"/charge", http.NoBody)
		if err != nil {
			panic(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
	}))
	t.Cleanup(func() { s.Close(); c.CloseIdleConnections() })
	return s.URL
}

// The bank becomes slow in the hold, as its phase says: the run fails, and the bottleneck is
// downstream, as the stub alone has measured.
func TestSlowStub(t *testing.T) {
	t.Parallel()
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "20ms"}}`,
			`{"name": "slow", "from": "10s", "for": "6s", "endpoints": ["charge"], "latency_factor": 40}`)
		p := steady(20, 10*time.Second)
		p.Load.Baseline.For, p.Load.Baseline.Rate = 6*time.Second, 10
		o := b.options(t, p)
		r := certify(t, o)
		v := verdict.Judge(r)
		found := diagnose.Of(r, v)
		if v.Outcome == verdict.Fail && found.Bottleneck.Component != diagnose.Downstream {
			t.Errorf("bottleneck %+v", found.Bottleneck)
		}
		if text := strings.Join(found.Bottleneck.Evidence, " "); !strings.Contains(text, "Its phase slow began at ") || !strings.Contains(text, ", 10 s after the start of the load") {
			t.Errorf("evidence %q", text)
		}
		checkStubFact(t, r, b)
		checkCatalogue(t, o.Dir)
		checkPhase(t, r)
		t.Logf("%s %s %s", v.Claim, found.Bottleneck.Sentence, found.Bottleneck.Evidence)
		return v
	})
}

// checkStubFact compares what the record says of the stub with its frames and with what was
// sent: each transaction made one call.
func checkStubFact(t *testing.T, r record.Run, b *bank) {
	t.Helper()
	if len(r.Facts.Stubs) != 1 {
		t.Fatalf("stubs %+v", r.Facts.Stubs)
	}
	s := r.Facts.Stubs[0]
	if s.Name != "bank" || s.URL != b.url || s.File.Path != b.file || len(s.File.SHA256) != 71 || len(s.Phases) != 1 || s.Phases[0].Name != "slow" || s.Ledger == nil {
		t.Fatalf("stub %+v", s)
	}
	calls := int64(0)
	for _, e := range s.Endpoints {
		for _, n := range e.Calls {
			calls += n
		}
	}
	framed, _ := r.Timeline.Sum(metric.StubCalls, nil, record.All)
	requests, _ := r.Timeline.Sum(metric.Requests, nil, record.All)
	// Requests that were open at the end are no samples of k6's.
	if calls != s.Ledger.Calls || float64(calls) != framed || float64(calls) < requests || float64(calls) > 1.02*requests {
		t.Errorf("%d calls, %d in the ledger, %g in the frames, of %g requests", calls, s.Ledger.Calls, framed, requests)
	}
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "bank is a stub (") || strings.Contains(text, "did not answer") {
		t.Errorf("limitations %q", text)
	}
}

// checkPhase: the seconds in which calls took long are those of the phase, on the run's clock.
func checkPhase(t *testing.T, r record.Run) {
	t.Helper()
	t0 := r.Facts.T0.Unix()
	mean := func(from, to int64) float64 {
		span := record.Span{From: t0 + from, To: t0 + to}
		ms, _ := r.Timeline.Sum(metric.StubCallTime, nil, span)
		n, _ := r.Timeline.Sum(metric.StubCalls, nil, span)
		return ms / n
	}
	// Calls end up to 0.8 s after they began.
	if before, in, after := mean(1, 10), mean(11, 16), mean(17, 18); in < 3*before || in < 3*after {
		t.Errorf("a call takes %g ms before the phase, %g in it, and %g after it; want about 20, 800, 20", before, in, after)
	}
}

// A stub that is started again under load, and one that ends, are limitations, and the run
// ends all the same.
func TestStubRestarts(t *testing.T) {
	t.Parallel()
	b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "1ms"}}`, "")
	p := loose(steady(20, 8*time.Second))
	o := b.options(t, p)
	restarted := make(chan bool)
	o.Progress = during(2*time.Second, func() {
		defer close(restarted)
		b.stop(t)
		b.start(t)
	})
	r := certify(t, o)
	<-restarted
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "the stub bank was restarted ") {
		t.Errorf("limitations %q", text)
	}
	if s := r.Facts.Stubs; len(s) != 1 || s[0].Ledger == nil || s[0].Ledger.Calls == 0 {
		t.Errorf("stubs %+v", s)
	}
	if state, err := b.client.State(t.Context()); err != nil || state.Run != "" {
		t.Errorf("after the run: %+v, %v", state, err)
	}

	o = b.options(t, p)
	stopped := make(chan bool)
	o.Progress = during(2*time.Second, func() { defer close(stopped); b.stop(t) })
	r = certify(t, o)
	<-stopped
	failed := false
	for _, c := range r.Facts.Collectors {
		failed = failed || c.Source == "stub/bank" && c.State == record.StateFailed && strings.Contains(c.Reason, "does not answer")
	}
	if v := verdict.Judge(r); !failed || !strings.Contains(strings.Join(v.Limitations, "\n"), "stub/bank was not observed (stub bank does not answer") {
		t.Errorf("collectors %+v, limitations %q", r.Facts.Collectors, v.Limitations)
	}
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "the ledger of stub bank was not read") {
		t.Errorf("limitations %q", text)
	}

	// Without the stub, none of its runs begins.
	o = b.options(t, p)
	if err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "stub bank does not answer") || hint.Of(err) == "" {
		t.Errorf("without the stub: %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it leaves a folder: %v", err)
	}
}

// A bank that is slow for 3 s: a service that sends calls again without a pause keeps it
// overloaded for the rest of the run, which the diagnosis says.
func TestMetastableRetries(t *testing.T) {
	t.Parallel()
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		v, found, last := slowFor3s(t, 3)
		if got := last(metric.StubAbandoned); got < 0.8 {
			t.Errorf("%.2f of the last calls are abandoned", got)
		}
		if v.Outcome == verdict.Fail && found.Component == diagnose.Undetermined {
			v.Outcome = verdict.Inconclusive // a machine that is too busy to name a cause
			return v
		}
		if v.Outcome == verdict.Fail && (found.Component != diagnose.Downstream || found.Cause != diagnose.Retries || !strings.Contains(found.Sentence, "it has not recovered in the ")) {
			t.Errorf("bottleneck %+v", found)
		}
		return v
	})
}

// The same service without retries recovers.
func TestRecoveryWithoutRetries(t *testing.T) {
	t.Parallel()
	_, found, last := slowFor3s(t, 0)
	if got := last(metric.StubAnswered); got < 0.8 {
		t.Errorf("%.2f of the last calls are answered", got)
	}
	if found.Cause != "" {
		t.Errorf("bottleneck %+v", found)
	}
}

// slowFor3s certifies the reference service with a stub that is slow for 3 s at the start of
// the hold. last is the share of an outcome in the calls of the last 4 s.
func slowFor3s(t *testing.T, retries int) (v verdict.Verdict, found diagnose.Bottleneck, last func(outcome string) float64) {
	t.Helper()
	b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "40ms"}, "concurrency": 3},
		{"name": "inquiry", "match": "GET /charge/{id}", "latency": {"fixed": "5ms"}, "background": true}`,
		`{"name": "slow", "from": "13s", "for": "3s", "endpoints": ["charge"], "latency_factor": 20}`)
	s := serve(t, "mariadb", func(c *target.Config) {
		c.Gateway.Retries, c.Gateway.Patience, c.Reconcile.After = retries, 200*time.Millisecond, time.Minute
		if err := c.Gateway.URL.Set(b.url); err != nil {
			t.Error(err)
		}
	})
	// 3 slots of 40 ms take 75 calls a second: those of 30 payments, and not 4 times as many.
	o := s.payments(t, spec.Load{
		Unit: "tps", Target: 30, Warmup: 2 * time.Second, Baseline: spec.Baseline{Rate: 8, For: 8 * time.Second}, Hold: 14 * time.Second, Cooldown: time.Second,
	})
	o.Profile.SLOs = []spec.SLO{{Metric: metric.TransactionDuration, Expression: "p(50)<400", Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: 400}}
	o.Profile.Abort = nil
	o.StubToken = stubToken
	o.Profile.Stubs = map[string]spec.Stub{"bank": {URL: b.url}}
	r := certify(t, o)
	v = verdict.Judge(r)
	found = *diagnose.Of(r, v).Bottleneck
	t.Logf("%s %s %q", v.Claim, found.Sentence, found.Evidence)
	return v, found, func(outcome string) float64 {
		span, charge := record.Span{From: judged(r).To - 4, To: judged(r).To}, metric.Label{Key: "endpoint", Value: "charge"}
		all, _ := r.Timeline.Sum(metric.StubCalls, []metric.Label{charge}, span)
		n, _ := r.Timeline.Sum(metric.StubCalls, []metric.Label{charge, {Key: "outcome", Value: outcome}}, span)
		return n / all
	}
}
