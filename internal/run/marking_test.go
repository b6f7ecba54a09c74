//go:build live

package run_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// logged is a request in the log of a service that logs trace ids.
type logged struct {
	path, proto, trace, span, flags, run, baggage string
}

// loggingService logs each request, and then lets answer answer it.
type loggingService struct {
	answer http.HandlerFunc

	mu  sync.Mutex
	log []logged
}

func (s *loggingService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/metrics" { // which the run reads, too: no load
		http.NotFound(w, r)
		return
	}
	l := logged{path: r.URL.Path, proto: r.Proto, run: r.Header.Get("X-Assay-Run"), baggage: r.Header.Get("Baggage")}
	if parts := strings.Split(r.Header.Get("Traceparent"), "-"); len(parts) == 4 && parts[0] == "00" {
		l.trace, l.span, l.flags = parts[1], parts[2], parts[3]
	}
	s.mu.Lock()
	s.log = append(s.log, l)
	s.mu.Unlock()
	s.answer(w, r)
}

// byTrace are the requests of each trace, in their order.
func (s *loggingService) byTrace() map[string][]logged {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]logged{}
	for _, l := range s.log {
		all[l.trace] = append(all[l.trace], l)
	}
	return all
}

// marked is a steady profile whose requests are marked as by default, with every tenth
// transaction sampled.
func marked(rate float64, hold time.Duration) spec.Profile {
	p := loose(steady(rate, hold))
	p.Marking = spec.DefaultMarking
	p.Marking.Sampled = 0.1
	return p
}

// shopScript makes three requests in each transaction, of which one is redirected, and two
// before and after the run.
const shopScript = `
import http from 'k6/http';
const target = __ENV.ASSAY_TARGET;
export function setup() { http.get(target + '/setup'); }
export default function () {
  http.get(target + '/old');
  http.batch([['POST', target + '/pay', '{}'], ['GET', target + '/price']]);
}
export function teardown() { http.get(target + '/teardown'); }
`

// Every request of a run on two workers is marked, and the slowest transaction is found in
// the service's log by the trace id in the certificate.
func TestSlowestTransactionIsFoundInTheServicesLog(t *testing.T) {
	t.Parallel()
	cpus(t, 0.25)
	var mu sync.Mutex
	payments, slow := 0, logged{}
	service := &loggingService{}
	service.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new", http.StatusFound)
		case "/pay":
			mu.Lock()
			payments++
			isSlow := payments == 100 // in the hold
			if isSlow {
				slow.trace = strings.Split(r.Header.Get("Traceparent"), "-")[1]
			}
			mu.Unlock()
			if isSlow {
				time.Sleep(4 * time.Second)
			}
		}
	}
	server := httptest.NewServer(service)
	defer server.Close()
	o := options(t, marked(30, 6*time.Second), shopScript, server.URL)
	o.Workers = 2
	r := certify(t, o)
	c := build.Of(r)
	if len(c.Transactions) == 0 || c.Transactions[0].TraceID != slow.trace || c.Transactions[0].LatencyMs < 4000 {
		t.Fatalf("the slowest transaction was %s, the certificate lists %+v", slow.trace, c.Transactions)
	}
	scheduled, _ := r.Timeline.Sum(metric.TransactionsScheduled, nil, whole(r))
	traces := service.byTrace()
	if len(traces) != int(scheduled)+1 {
		t.Errorf("%d traces of %g transactions and of setup() and teardown()", len(traces), scheduled)
	}
	for id, requests := range traces {
		paths, spans := map[string]int{}, map[string]bool{}
		for _, l := range requests {
			paths[l.path]++
			spans[l.span] = true
			if l.run != o.ID || l.baggage != "user_agent.synthetic.type=test,assay.run="+o.ID || l.flags != requests[0].flags {
				t.Errorf("a request of trace %s has run %q, baggage %q and flags %s", id, l.run, l.baggage, l.flags)
			}
		}
		want := map[string]int{"/old": 1, "/new": 1, "/pay": 1, "/price": 1}
		if paths["/setup"] > 0 {
			want = map[string]int{"/setup": 1, "/teardown": 1}
		}
		if !maps.Equal(paths, want) || len(spans) != len(requests) || len(id) != 32 {
			t.Errorf("trace %q has the requests %v with %d spans", id, paths, len(spans))
		}
	}
	for _, listed := range c.Transactions {
		if requests := traces[listed.TraceID]; len(requests) != 4 || (requests[0].flags == "01") != listed.Sampled {
			t.Errorf("%+v has the requests %v", listed, requests)
		}
	}
	if sampled := slices.ContainsFunc(c.Transactions, func(t certificate.Transaction) bool { return t.Sampled }); !sampled {
		t.Error("none of those listed is sampled")
	}
	again, err := certificate.Marshal(build.Of(open(t, o)))
	if first, e := certificate.Marshal(c); cmp.Or(err, e) != nil || !bytes.Equal(first, again) {
		t.Errorf("judged again: %v, %v: %s", err, e, again)
	}
}

// What the script sets stays, and its trace is the one that is listed. A profile may change
// the header, or turn marking off.
func TestHeadersOfScriptAndProfile(t *testing.T) {
	t.Parallel()
	own := `
import http from 'k6/http';
import exec from 'k6/execution';
export default function () {
  const id = (4096 + exec.scenario.iterationInTest).toString(16).padStart(32, 'a');
  http.get(__ENV.ASSAY_TARGET + '/', { headers: { traceparent: '00-' + id + '-00000000000000ab-01', 'x-assay-run': 'mine', baggage: 'tenant=7' } });
}
`
	unmarked := marked(20, 2*time.Second)
	unmarked.Marking = spec.Marking{}
	other := marked(20, 2*time.Second)
	other.Marking = spec.Marking{Header: "x-load-test", Sampled: 1}
	for name, c := range map[string]struct {
		script  string
		profile spec.Profile
		check   func(c certificate.Certificate, l logged, h http.Header) bool
	}{
		"the script's own": {own, marked(20, 2*time.Second), func(c certificate.Certificate, l logged, _ http.Header) bool {
			return strings.HasPrefix(l.trace, "aaaa") && l.span == "00000000000000ab" && l.run == "mine" && l.baggage == "tenant=7" &&
				len(c.Transactions) > 0 && strings.HasPrefix(c.Transactions[0].TraceID, "aaaa") && c.Transactions[0].Sampled
		}},
		"off": {getScript, unmarked, func(c certificate.Certificate, l logged, _ http.Header) bool {
			return l == logged{path: "/", proto: "HTTP/1.1"} && c.Transactions == nil && c.Marking == nil
		}},
		"another header": {getScript, other, func(c certificate.Certificate, l logged, h http.Header) bool {
			return l.flags == "01" && l.run == "" && l.baggage == "" && h.Get("X-Load-Test") == c.Run && c.Marking.Header == "x-load-test" && c.Transactions[0].Sampled
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.15)
			headers := make(chan http.Header, 1)
			service := &loggingService{answer: func(_ http.ResponseWriter, r *http.Request) {
				select {
				case headers <- r.Header:
				default: // the first is enough
				}
			}}
			server := httptest.NewServer(service)
			defer server.Close()
			r := certify(t, options(t, c.profile, c.script, server.URL))
			first := <-headers
			if found := build.Of(r); !c.check(found, service.log[0], first) {
				t.Errorf("requests like %+v; listed %+v", service.log[0], found.Transactions)
			}
		})
	}
}

// Marks do not keep k6 from using HTTP/2.
func TestMarkedHTTP2(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	service := &loggingService{answer: func(http.ResponseWriter, *http.Request) {}}
	server := httptest.NewUnstartedServer(service)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{}
	server.StartTLS()
	defer server.Close()
	r := certify(t, options(t, marked(20, 2*time.Second), "export const options = { insecureSkipTLSVerify: true };"+getScript, server.URL))
	traces := service.byTrace()
	if len(traces) < 80 {
		t.Errorf("%d traces", len(traces))
	}
	for id, requests := range traces {
		for _, l := range requests {
			if l.proto != "HTTP/2.0" || len(id) != 32 || l.run != r.Plan.Run {
				t.Errorf("request %+v", l)
			}
		}
	}
}

// The record of a run in which everything fails has few examples, which say why.
func TestExamplesOfARunThatFails(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	service := &loggingService{answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }}
	server := httptest.NewServer(service)
	defer server.Close()
	p := marked(300, 10*time.Second)
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, spec.SLO{Metric: metric.RequestFailed, Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01})
	r := certify(t, options(t, p, getScript, server.URL))
	frames, examples := 0, r.Timeline.Exemplars(metric.TransactionDuration, record.All)
	for _, s := range r.Timeline.Sources() {
		if s.Name == metric.WorkerSource(0) {
			frames = int(s.Frames)
		}
	}
	if n := len(examples); n < 10 || n > 3*frames {
		t.Errorf("%d examples in %d frames of %d requests", n, frames, len(service.log))
	}
	c := build.Of(r)
	if n := len(c.Transactions); n < 10 || n > 50 {
		t.Errorf("%d are listed", n)
	}
	traces, want := service.byTrace(), []string{"http_req_failed rate<0.01", "transaction_duration p(50)<1000"}
	for _, listed := range c.Transactions {
		slices.Sort(listed.Violates)
		if listed.Outcome != metric.Failed || listed.Error != "HTTP 503" || !slices.Equal(listed.Violates, want) || len(traces[listed.TraceID]) != 1 {
			t.Errorf("listed: %s", fmt.Sprintf("%+v", listed))
		}
	}
}
