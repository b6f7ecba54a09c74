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
	"syscall"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/run"
)

// overPlan is how much longer than its plan a run may take whatever fails: the
// transactions' time-out is part of the plan.
const overPlan = 30 * time.Second

// during calls do once, in a goroutine of its own, some time into the hold.
func during(later time.Duration, do func()) func(run.Event) {
	called := false
	return func(e run.Event) {
		if !called && enter(plan.Hold)(e) {
			called = true
			time.AfterFunc(later, do)
		}
	}
}

// overdue fails the test where the run took longer than its plan and so much
// more.
func overdue(t *testing.T, r record.Run, limit time.Duration) {
	t.Helper()
	took := time.Since(r.Facts.T0.Add(r.Plan.Load.Duration() + r.Plan.Load.Timeout))
	if took > limit {
		t.Errorf("the run ended %s after its plan", took)
	}
	t.Logf("ended %s after its plan", took.Round(time.Millisecond))
}

// hang keeps a request until its client leaves, which the server notices once
// the body is read.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// The database killed or stopped mid-run: the run ends by itself, sealed, and
// never with PASS, whether the service fails at once or hangs.
func TestDatabaseOutage(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		hangs  bool     // the service does not answer any more
		ends   []string // how transactions end then
	}{
		{"killed, the service answers 503", syscall.SIGKILL, false, []string{"failed"}},
		{"killed, the service hangs", syscall.SIGKILL, true, []string{"timed_out", "dropped"}},
		{"stopped", syscall.SIGSTOP, false, []string{"timed_out", "dropped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "mariadb")
			front, hang := s.front(t)
			o := s.payments(t, quickLoad(60, 10*time.Second))
			o.Target, o.Profile.Timeout, o.Profile.Abort = front, 3*time.Second, nil
			o.Progress = during(1500*time.Millisecond, func() {
				if c.hangs {
					hang()
				}
				if err := syscall.Kill(s.server.Pid(), c.signal); err != nil {
					t.Error(err)
				}
			})
			r := certify(t, o)
			overdue(t, r, overPlan)
			outcomes := ended(t, r, c.ends, 250)
			v := verdict.Judge(r)
			if v.Outcome != verdict.Fail && v.Outcome != verdict.Invalid {
				t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
			}
			for _, rule := range v.Rules {
				// A machine that others share may starve the generator.
				if rule.Outcome == verdict.Invalid && rule.ID != "offered" && !strings.HasPrefix(rule.ID, "generator-") {
					t.Errorf("rule %s: %s", rule.ID, rule.Detail)
				}
			}
			for _, slo := range v.SLOs {
				if slo.Metric == verdict.ThroughputMetric && slo.Outcome != verdict.Fail {
					t.Errorf("throughput is %s", slo.Outcome)
				}
			}
			if l := r.Facts.Ledger; l.State != record.StateFailed || !strings.Contains(l.Reason, "the database cannot be reached") {
				t.Errorf("ledger %s: %s", l.State, l.Reason)
			}
			for _, col := range r.Facts.Collectors {
				if (col.Source == "database") != (col.State == record.StateFailed) {
					t.Errorf("collector %s: %s: %s", col.Source, col.State, col.Reason)
				}
			}
			t.Logf("%v; %s", outcomes, v.Claim)
		})
	}
}

// front is a proxy before the service, which stops answering once told to.
func (s service) front(t *testing.T) (front string, hangUp func()) {
	t.Helper()
	behind, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	hanging, hangUp := context.WithCancel(context.Background())
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
	t.Cleanup(hangUp)
	return server.URL, hangUp
}

// ended fails the test unless all of the plan was scheduled, and at least so
// many ended in one of these ways and nearly all others well.
func ended(t *testing.T, r record.Run, ways []string, least int64) map[string]int64 {
	t.Helper()
	scheduled, outcomes := accounted(t, r)
	if scheduled != r.Plan.Load.Arrivals() {
		t.Errorf("%d transactions were scheduled, the plan has %d", scheduled, r.Plan.Load.Arrivals())
	}
	n := int64(0)
	for _, way := range ways {
		n += outcomes[way]
	}
	// What was cut off amidst may end in another way.
	if n < least || n+outcomes["completed"] < scheduled-20 {
		t.Errorf("outcomes %v of %d: want at least %d that %s", outcomes, scheduled, least, strings.Join(ways, " or "))
	}
	return outcomes
}

// With the profile's own abort condition the run spares a target that fails.
func TestAbortConditionStopsRun(t *testing.T) {
	t.Parallel()
	failing, fail := context.WithCancel(context.Background())
	defer fail()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := steady(100, 30*time.Second)
	p.Abort = abortAfter(3 * time.Second)
	o := options(t, p, getScript, server.URL)
	var failed time.Time
	o.Progress = during(2*time.Second, func() { failed = time.Now(); fail() })
	r := certify(t, o)
	if took := time.Since(failed); took > 10*time.Second {
		t.Errorf("the target got load for %s more", took)
	}
	accounted(t, r)
	v := verdict.Judge(r)
	if v.Outcome != verdict.Fail || !strings.Contains(v.Claim, "to protect the target: http_req_failed rate>0.5 for 3s") {
		t.Errorf("verdict %s, stopped by %q: %s", v.Outcome, r.Facts.Stopped, v.Claim)
		tellRules(t, v)
	}
	row := v.SLOs[len(v.SLOs)-1]
	if row.Expression != "abort: rate>0.5 for 3s" || row.Outcome != verdict.Fail || row.Observed == nil || *row.Observed <= 0.5 || *row.Samples < 100 {
		t.Errorf("the abort's row is %+v", row)
	}
	for _, s := range v.SLOs {
		if s.Outcome == verdict.Pass {
			t.Errorf("%s %s is PASS on a window that was cut short", s.Metric, s.Expression)
		}
	}
	t.Logf("%s", v.Claim)
}

// A target that dies, or that accepts and never answers: everything accounted
// for, FAIL, and an end in time.
func TestDeadTarget(t *testing.T) {
	for name, c := range map[string]struct {
		hangs bool
		ends  []string // how transactions of the outage end
	}{
		"killed":        {false, []string{"failed"}},
		"never answers": {true, []string{"timed_out", "dropped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dead, die := context.WithCancel(context.Background())
			defer die()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if dead.Err() != nil {
					hang(r)
				}
			}))
			defer server.Close()
			p := steady(100, 10*time.Second)
			p.Timeout = 3 * time.Second
			o := options(t, p, getScript, server.URL)
			o.Progress = during(time.Second, func() {
				die()
				if !c.hangs {
					_ = server.Listener.Close()
					server.CloseClientConnections()
				}
			})
			r := certify(t, o)
			overdue(t, r, 6*time.Second)
			outcomes := ended(t, r, c.ends, 700)
			v := verdict.Judge(r)
			if v.Outcome != verdict.Fail {
				t.Errorf("verdict %s, want FAIL: %s", v.Outcome, v.Claim)
				tellRules(t, v)
			}
			t.Logf("%v; %s", outcomes, v.Claim)
		})
	}
}
