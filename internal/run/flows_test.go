//go:build live

package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// withFlows makes a profile of flows, each with the script of its name.
func withFlows(t *testing.T, o run.Options, scripts map[string]string, flows ...spec.Flow) run.Options {
	t.Helper()
	dir := filepath.Dir(o.File.Path)
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range flows {
		for j := range flows[i].SLOs {
			flows[i].SLOs[j].Flow = flows[i].Name
		}
		if flows[i].Timeout == 0 {
			flows[i].Timeout = 10 * time.Second
		}
	}
	o.Profile.Flows = flows
	return o
}

// below is the SLO p(P)<bound on the transaction.
func below(p, bound float64) spec.SLO {
	return spec.SLO{
		Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(%g)<%g", p, bound),
		Aggregate: spec.Percentile, Quantile: p / 100, Operator: "<", Bound: bound,
	}
}

// stages is a load whose stages are evenly spaced.
func stages(all ...spec.Stage) spec.Load { return spec.Load{Unit: "tps", Even: true, Stages: all} }

// flowScript sends requests to a path, with the data that its own setup() returns.
func flowScript(path string) string {
	return fmt.Sprintf(`
import http from 'k6/http';
export function setup() { return { path: '%[1]s' }; }
export default function (data) {
  if (data.path !== '%[1]s') { throw new Error('the data of another flow: ' + data.path); }
  http.get(__ENV.ASSAY_TARGET + data.path, { tags: { name: '%[1]s' } });
}
export function teardown(data) { http.get(__ENV.ASSAY_TARGET + '/end' + data.path); }
`, path)
}

// Two flows with loads and windows of their own, on two workers: each has exactly the
// arrivals of its plan, its own setup() and teardown(), and a verdict of its own. The one
// that is slow in its second window fails the run, which names flow and window.
func TestFlows(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	var slow atomic.Bool
	var ended [2]atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end/view":
			ended[0].Add(1)
		case "/end/pay":
			ended[1].Add(1)
		case "/pay":
			if slow.Load() {
				time.Sleep(3 * time.Second)
			}
		}
	}))
	defer server.Close()
	o := withFlows(
		t, options(t, loose(steady(1, time.Second)), "", server.URL), map[string]string{"view.js": flowScript("/view"), "pay.js": flowScript("/pay")},
		spec.Flow{
			Name: "views", Scenario: "view.js", SLOs: []spec.SLO{below(50, 1500)},
			Load: stages(spec.Stage{Rate: 20, For: 2 * time.Second}, spec.Stage{Rate: 40, For: 14 * time.Second, Judge: true}),
		},
		spec.Flow{
			Name: "payments", Scenario: "pay.js", SLOs: []spec.SLO{below(50, 1500)},
			Load: stages(spec.Stage{Rate: 5, For: 3 * time.Second}, spec.Stage{Rate: 10, For: 5 * time.Second, Judge: true},
				spec.Stage{Rate: 5, For: 2 * time.Second}, spec.Stage{Rate: 10, For: 6 * time.Second, Judge: true}),
		},
	)
	o.Workers = 2
	o.Progress = func(e run.Event) {
		if e.Kind == run.Tick && e.Offset > 9*time.Second {
			slow.Store(true)
		}
	}
	r := certify(t, o)
	v := verdict.Judge(r)
	for i, f := range r.PerFlow() {
		planned := f.Plan.Load.Arrivals()
		if n, _ := f.Timeline.Sum(metric.TransactionsScheduled, nil, whole(r)); int64(n) != planned {
			t.Errorf("%s: %g transactions were scheduled, the plan has %d", f.Flow, n, planned)
		}
		if failed, _ := f.Timeline.Sum(metric.Transactions, []metric.Label{{Key: "outcome", Value: metric.Failed}}, whole(r)); failed > 0 {
			t.Errorf("%s: %g transactions failed", f.Flow, failed)
		}
		if n := ended[i].Load(); n != 1 {
			t.Errorf("%s: teardown() ran %d times", f.Flow, n)
		}
	}
	payments := v.Flows[1]
	if v.Outcome != verdict.Fail || payments.Name != "payments" || payments.Outcome != verdict.Fail || v.Flows[0].Outcome != verdict.Pass {
		t.Fatalf("%s: %+v", v.Claim, v.Flows)
	}
	if !strings.Contains(v.Claim, "did not sustain 2 flows (views 40/s for 14 s, payments 10/s for 11 s)") || !strings.Contains(v.Claim, "payments: transaction_duration missed p(50)<1500") {
		t.Error(v.Claim)
	}
	i := slices.IndexFunc(v.SLOs, func(s verdict.SLO) bool { return s.Flow == "payments" && s.Outcome == verdict.Fail })
	if w := v.SLOs[i].FailedWindow; w == nil || *w != 2 {
		t.Errorf("%+v", v.SLOs[i])
	}
	c := build.Of(r)
	if len(c.Flows) != 2 || c.Flows[1].Verdict != "FAIL" || c.Bottleneck.Flow != "payments" {
		t.Errorf("%+v, %+v", c.Flows, c.Bottleneck)
	}
	if c.Flows[0].Latency["/view"].Count != 40*14 || c.Flows[0].Latency["/pay"].Count != 0 {
		t.Errorf("latencies of views: %+v", c.Flows[0].Latency)
	}
}

// The scripts of flows get from k6 what they would get by themselves: the data of an
// asynchronous setup(), undefined where there is none, null where that is the data. The
// teardown() of one ends before that of the next begins.
func TestDataOfFlows(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	var mu sync.Mutex
	var ended []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/end/"); ok {
			mu.Lock()
			ended = append(ended, name)
			mu.Unlock()
		}
	}))
	defer server.Close()
	const end = "http.asyncRequest('GET', __ENV.ASSAY_TARGET + '/end/%s')"
	script := func(name, setup, data, want string) string {
		request := fmt.Sprintf(end, name)
		return fmt.Sprintf(`
import http from 'k6/http';
%s
export default function (%s) {
  if (%s) { throw new Error('wrong data: ' + JSON.stringify(data)); }
  http.get(__ENV.ASSAY_TARGET + '/');
}
export async function teardown(%[2]s) {
  if (%[3]s) { throw new Error('wrong data at the end: ' + JSON.stringify(data)); }
  for (let i = 0; i < 3; i++) { await %[4]s; }
}
`, setup, data, want, request)
	}
	scripts := map[string]string{
		"async.js": script("async", "export async function setup() { await http.asyncRequest('GET', __ENV.ASSAY_TARGET + '/'); return { a: 1 }; }", "data", "data.a !== 1"),
		"none.js":  script("none", "", "data = 'default'", "data !== 'default'"),
		"null.js":  script("null", "export function setup() { return null; }", "data = 'default'", "data !== null"),
		"empty.js": script("empty", "export async function setup() {}", "data = 'default'", "data !== 'default'"),
	}
	var flows []spec.Flow
	for _, name := range []string{"async", "none", "null", "empty"} {
		load := stages(spec.Stage{Rate: 10, For: time.Second}, spec.Stage{Rate: 10, For: 2 * time.Second, Judge: true})
		flows = append(flows, spec.Flow{Name: name, Scenario: name + ".js", SLOs: []spec.SLO{below(50, 1500)}, Load: load})
	}
	o := withFlows(t, options(t, loose(steady(1, time.Second)), "", server.URL), scripts, flows...)
	o.Workers = 2 // one worker gets the data from the other
	r := certify(t, o)
	for _, f := range r.PerFlow() {
		n, _ := f.Timeline.Sum(metric.Transactions, []metric.Label{{Key: "outcome", Value: metric.Completed}}, whole(r))
		if planned := f.Plan.Load.Arrivals(); int64(n) != planned {
			t.Errorf("%s: %g of %d transactions completed", f.Flow, n, planned)
		}
	}
	for _, w := range r.Facts.Workers {
		if w.Logged != "" {
			t.Errorf("%s: %s", w.Source, w.Logged)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"async", "async", "async", "none", "none", "none", "null", "null", "null", "empty", "empty", "empty"}; !slices.Equal(ended, want) {
		t.Errorf("ended: %v, want %v", ended, want)
	}
}

// What setup() or teardown() acknowledges belongs to no flow: it is in no ledger, so that
// the run proves nothing.
func TestAcknowledgedOutsideOfFlows(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	s := serve(t, "mariadb")
	const why = "ack() was called in setup() or teardown(): in a profile with flows only their transactions have a ledger"
	for _, part := range []string{"setup", "teardown"} {
		script := fmt.Sprintf(`
import http from 'k6/http';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
const acknowledged = new Counter('ledger_acknowledged');
export function %s() {
  exec.vu.metrics.metadata.ledger_id = 'a';
  acknowledged.add(1);
}
export default function () { http.get(__ENV.ASSAY_TARGET + '/'); }
`, part)
		var flows []spec.Flow
		for _, name := range []string{"one", "two"} {
			load := stages(spec.Stage{Rate: 10, For: time.Second}, spec.Stage{Rate: 10, For: 2 * time.Second, Judge: true})
			flows = append(flows, spec.Flow{Name: name, Scenario: "script.js", SLOs: []spec.SLO{below(50, 1500)}, Load: load})
		}
		flows[1].Ledger = s.payments(t, quickLoad(1, time.Second)).Profile.Flows[0].Ledger
		o := withFlows(t, options(t, loose(steady(1, time.Second)), script, server.URL), nil, flows...)
		o.DSN = s.dsn
		r := certify(t, o)
		if v := verdict.Judge(r); v.Outcome != verdict.Invalid {
			t.Errorf("%s: %s: %s", part, v.Outcome, v.Claim)
		}
		if logged := r.Facts.Workers[0].Logged; !strings.HasSuffix(logged, why) {
			t.Errorf("%s: %s", part, logged)
		}
		if stopped := strings.HasSuffix(r.Facts.Stopped, why); stopped != (part == "setup") { // the load ends before teardown()
			t.Errorf("%s: stopped: %s", part, r.Facts.Stopped)
		}
	}
}
