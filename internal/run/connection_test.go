//go:build live

package run_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/wire"
)

// connection is a faulty proxy between the workers and their coordinator.
type connection struct {
	to      atomic.Pointer[url.URL] // the coordinator
	state   atomic.Int32
	refused atomic.Int64 // requests refused while cut
	frames  atomic.Int64 // dropped answers to frames
	acks    atomic.Int64 // dropped answers to acknowledgements
}

// States of the connection. It drops an answer by closing the connection after the
// coordinator has handled the request.
const (
	passing = int32(iota)
	cut
	dropFrameAnswers
	dropAckAnswers
)

// hold holds a state for at least that long, and until it has affected that many requests
// of the workers, unless these have ended.
func (c *connection) hold(state int32, length time.Duration, affected *atomic.Int64, least int64) {
	c.state.Store(state)
	begin := time.Now()
	for time.Since(begin) < length || affected.Load() < least && time.Since(begin) < 20*time.Second {
		time.Sleep(50 * time.Millisecond)
	}
}

// unverified is for the proxy, which does not know the coordinator's key.
var unverified = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

var errAnswerLost = errors.New("the answer is dropped")

func (c *connection) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if c.state.Load() == cut {
		c.refused.Add(1)
		panic(http.ErrAbortHandler) // which closes the connection
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(c.to.Load()) },
		Transport:      unverified,
		ModifyResponse: c.dropAnswer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy.ServeHTTP(rw, r)
}

func (c *connection) dropAnswer(answer *http.Response) error {
	state, path := c.state.Load(), answer.Request.URL.Path
	switch {
	case path == wire.PathMetrics && state == dropFrameAnswers:
		c.frames.Add(1)
	case path == wire.PathAcknowledged && state == dropAckAnswers:
		c.acks.Add(1)
	default:
		return nil
	}
	return errAnswerLost
}

// The coordinator is unreachable for five seconds, and its answers are lost for five more:
// frames and acknowledgements are sent again, and counted once.
func TestCoordinatorOutage(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	c := &connection{}
	proxyServer := httptest.NewServer(c)
	defer proxyServer.Close()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, loose(steady(100, 14*time.Second)), ackScript, server.URL)
	o.Progress = during(time.Second, func() {
		c.hold(cut, 5*time.Second, &c.refused, 4)
		c.hold(dropFrameAnswers, 3*time.Second, &c.frames, 2)
		c.hold(dropAckAnswers, 2*time.Second, &c.acks, 2)
		c.state.Store(passing)
	})
	// The worker is given the proxy's address instead of the coordinator's.
	awaitJoin(&o, func(address string) {
		to, err := url.Parse(address)
		if err != nil {
			t.Error(err)
		}
		c.to.Store(&url.URL{Scheme: to.Scheme, Host: to.Host})
		startWorker(t, o.Executable, proxyServer.URL, t.TempDir())
	})
	r := certify(t, o)
	lost := fmt.Sprintf("%d requests refused, %d answers to frames and %d to acknowledgements dropped", c.refused.Load(), c.frames.Load(), c.acks.Load())
	if c.refused.Load() < 4 || c.frames.Load() < 2 || c.acks.Load() < 2 {
		t.Errorf("%s: too few to test anything", lost)
	}
	scheduled, outcomes := checkAccounted(t, r)
	if scheduled != r.Plan.Load.Arrivals() || outcomes["completed"] != scheduled {
		t.Errorf("%d of %d transactions were scheduled, and ended %v", scheduled, r.Plan.Load.Arrivals(), outcomes)
	}
	v := verdict.Judge(r)
	if found := brokenRules(v); len(found) > 0 {
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
