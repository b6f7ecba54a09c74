package run_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/wire"
)

// connection stands between the workers and their coordinator.
type connection struct {
	address string // a file that will hold the coordinator's address
	state   atomic.Int32
	refused atomic.Int64 // requests, while cut
	frames  atomic.Int64 // answers to frames that nobody heard
	acks    atomic.Int64 // and to acknowledgements
}

// States of the connection. Deaf, it lets requests pass, and cuts before the answer.
const (
	passing = int32(iota)
	cut
	deaf
	deafToAcks
)

var errUnheard = errors.New("nobody hears the answer")

func (w *connection) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if w.state.Load() == cut {
		w.refused.Add(1)
		panic(http.ErrAbortHandler) // which closes the connection
	}
	address, err := os.ReadFile(w.address)
	to, parseErr := url.Parse(strings.TrimSpace(string(address)))
	if err != nil || parseErr != nil {
		panic(http.ErrAbortHandler)
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(to) },
		ModifyResponse: w.hear,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy.ServeHTTP(rw, r)
}

func (w *connection) hear(answer *http.Response) error {
	state, path := w.state.Load(), answer.Request.URL.Path
	switch {
	case path == wire.PathMetrics && state == deaf:
		w.frames.Add(1)
	case path == wire.PathAcknowledged && state == deafToAcks:
		w.acks.Add(1)
	default:
		return nil
	}
	return errUnheard
}

// The coordinator out of reach for five seconds, and for five more its answers
// lost: frames and acknowledgements come again, and count once.
func TestCoordinatorOutage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &connection{address: filepath.Join(dir, "address")}
	between := httptest.NewServer(w)
	defer between.Close()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, loose(steady(100, 14*time.Second)), ackScript, server.URL)
	// Workers are started through a program that leads their line over the connection.
	through := filepath.Join(dir, "through")
	script := fmt.Sprintf("#!/bin/sh\ntest -z \"$ASSAY_COORDINATOR\" || { echo \"$ASSAY_COORDINATOR\" > %s; export ASSAY_COORDINATOR=%s; }\nexec %s \"$@\"\n",
		w.address, between.URL, o.Executable)
	if err := os.WriteFile(through, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	o.Executable = through
	o.Progress = during(time.Second, func() {
		w.state.Store(cut)
		time.Sleep(5 * time.Second)
		w.state.Store(deaf)
		time.Sleep(3 * time.Second)
		w.state.Store(deafToAcks)
		time.Sleep(2 * time.Second)
		w.state.Store(passing)
	})
	r := certify(t, o)
	lost := fmt.Sprintf("%d requests refused, %d answers to frames and %d to acknowledgements unheard", w.refused.Load(), w.frames.Load(), w.acks.Load())
	if w.refused.Load() < 4 || w.frames.Load() < 2 || w.acks.Load() < 2 {
		t.Errorf("%s: the test has tested nothing", lost)
	}
	scheduled, outcomes := accounted(t, r)
	if scheduled != r.Plan.Load.Arrivals() || outcomes["completed"] != scheduled {
		t.Errorf("%d of %d transactions were scheduled, and ended %v", scheduled, r.Plan.Load.Arrivals(), outcomes)
	}
	v := verdict.Judge(r)
	if found := broken(v); len(found) > 0 {
		t.Errorf("broken: %v", found)
	}
	acks := acknowledged(t, o)
	if len(acks) != int(scheduled) {
		t.Errorf("%d identities were acknowledged once, want %d", len(acks), scheduled)
	}
	for id, n := range acks {
		if n != 1 {
			t.Errorf("%s was acknowledged %d times", id, n)
		}
	}
	t.Logf("%s; %s", lost, v.Claim)
}

// ackScript acknowledges every transaction.
const ackScript = `
import http from 'k6/http';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
const acknowledged = new Counter('ledger_acknowledged');
export default function () {
  http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } });
  exec.vu.metrics.metadata.ledger_id = exec.vu.idInTest + '-' + exec.vu.iterationInInstance;
  acknowledged.add(1);
  delete exec.vu.metrics.metadata.ledger_id;
}
`
