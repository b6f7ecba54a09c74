//go:build live

package run_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/stub"
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
	cpus(t, 0.15)
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "20ms"}}`,
			`{"name": "slow", "from": "10s", "for": "6s", "endpoints": ["charge"], "latency_factor": 40}`)
		p := steady(20, 12*time.Second)
		p.Flows[0].Load.Baseline.For, p.Flows[0].Load.Baseline.Rate = 6*time.Second, 10
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
	answered := r.Timeline.BySecond(metric.StubCalls, nil) // there are calls in each second
	seconds := slices.Sorted(maps.Keys(answered))
	complete := len(seconds) > 0 && seconds[len(seconds)-1]-seconds[0] == int64(len(seconds)-1)
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "bank is a stub (") || complete && strings.Contains(text, "did not answer") {
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
	if before, in, after := mean(1, 10), mean(11, 16), mean(18, 20); in < 3*before || in < 3*after {
		t.Errorf("a call takes %g ms before the phase, %g in it, and %g after it; want about 20, 800, 20", before, in, after)
	}
}
