//go:build live

package run_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
)

// maxOverrun is how much longer than its plan, which includes the transactions' timeout, a
// run may take whatever fails.
const maxOverrun = time.Minute

// during returns a progress function that calls do once, in its own goroutine, the given
// time into the hold.
func during(later time.Duration, do func()) func(run.Event) {
	called := false
	return func(e run.Event) {
		if !called && enter(plan.Hold)(e) {
			called = true
			time.AfterFunc(later, do)
		}
	}
}

// outageTimeout is the timeout of transactions in tests of an outage: longer than a busy
// machine suspends a process, so that no transaction times out before the outage.
const outageTimeout = 5 * time.Second

// checkOverrun fails the test if the run ended more than maxOverrun after its plan.
func checkOverrun(t *testing.T, r record.Run) {
	t.Helper()
	took := time.Since(r.Facts.T0.Add(r.Plan.Load.Duration() + r.Plan.Load.Timeout))
	if took > maxOverrun {
		t.Errorf("the run ended %s after its plan", took)
	}
	t.Logf("ended %s after its plan", took.Round(time.Millisecond))
}

// hang holds a request until its client disconnects, which the server notices only once
// the body has been read.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// hangingProxy is a proxy in front of the service that stops responding once
// hangNow is called.
func (s service) hangingProxy(t *testing.T) (address string, hangNow func()) {
	t.Helper()
	behind, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	hanging, hangNow := context.WithCancel(context.Background())
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hanging.Err() != nil {
			hang(r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(hangNow)
	return server.URL, hangNow
}

// checkEnds fails the test unless all of the plan was scheduled, the transactions due after
// the outage began have one of these outcomes, and nearly all others completed: a tenth of
// all may have been under way at that moment, and have another outcome.
func checkEnds(t *testing.T, r record.Run, ends []string, out time.Time) map[string]int64 {
	t.Helper()
	scheduled, outcomes := checkAccounted(t, r)
	least := scheduled - dueBy(r, out.Sub(r.Facts.T0)) - scheduled/10
	if least <= 0 {
		t.Errorf("the outage began %s after the load", out.Sub(r.Facts.T0))
	}
	if scheduled != r.Plan.Load.Arrivals() {
		t.Errorf("%d transactions were scheduled, the plan has %d", scheduled, r.Plan.Load.Arrivals())
	}
	n := int64(0)
	for _, end := range ends {
		n += outcomes[end]
	}
	if n < least || n+outcomes["completed"] < scheduled-scheduled/10 {
		t.Errorf("outcomes %v of %d: want at least %d %s", outcomes, scheduled, least, strings.Join(ends, " or "))
	}
	return outcomes
}

// The profile's abort condition stops the load on a target that fails.
func TestAbortConditionStopsRun(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	failing, fail := context.WithCancel(context.Background())
	defer fail()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := steady(100, 3*time.Minute)
	p.Abort = abortAfter(3 * time.Second)
	o := options(t, p, getScript, server.URL)
	var failed time.Time
	o.Progress = during(2*time.Second, func() { failed = time.Now(); fail() })
	r := certify(t, o)
	if took := time.Since(failed); took > time.Minute {
		t.Errorf("the target received load for %s more", took)
	}
	checkAccounted(t, r)
	v := verdict.Judge(r)
	if v.Outcome != verdict.Fail || !strings.Contains(v.Claim, "to protect the target: http_req_failed rate>0.5 for 3s") {
		t.Errorf("verdict %s, stopped by %q: %s", v.Outcome, r.Facts.Stopped, v.Claim)
		logRules(t, v)
	}
	row := v.SLOs[len(v.SLOs)-1]
	if row.Expression != "abort: rate>0.5 for 3s" || row.Outcome != verdict.Fail || row.Observed == nil || *row.Observed <= 0.5 || *row.Samples < 100 {
		t.Errorf("the row of the abort condition is %+v", row)
	}
	for _, s := range v.SLOs {
		if s.Outcome == verdict.Pass {
			t.Errorf("%s %s is PASS on a truncated window", s.Metric, s.Expression)
		}
	}
	t.Logf("%s", v.Claim)
}

// With a target that dies, or that accepts and never answers, every transaction has an
// outcome, the verdict is FAIL, and the run ends in time.
func TestDeadTarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs bool
		ends  []string // outcomes of transactions during the outage
	}{
		"killed":        {false, []string{"failed"}},
		"never answers": {true, []string{"timed_out", "dropped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.2)
			dead, die := context.WithCancel(context.Background())
			defer die()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if dead.Err() != nil {
					hang(r)
				}
			}))
			defer server.Close()
			p := steady(100, 10*time.Second)
			p.Flows[0].Timeout = outageTimeout
			o := options(t, p, getScript, server.URL)
			out := make(chan time.Time, 1)
			o.Progress = during(time.Second, func() {
				die()
				if !c.hangs {
					_ = server.Listener.Close()
					server.CloseClientConnections()
				}
				out <- time.Now()
			})
			r := certify(t, o)
			checkOverrun(t, r)
			outcomes := checkEnds(t, r, c.ends, <-out)
			v := verdict.Judge(r)
			if v.Outcome != verdict.Fail {
				t.Errorf("verdict %s, want FAIL: %s", v.Outcome, v.Claim)
				logRules(t, v)
			}
			t.Logf("%v; %s", outcomes, v.Claim)
		})
	}
}
