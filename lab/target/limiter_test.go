//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/polltest"
)

// With one worker two clients queue; once a further instance has booted, each has a worker,
// and no request waits.
func testServiceThatNeedsTimeToGrow(t *testing.T, server *mysqld.Server) {
	of := Capacity{Slots: 1, Most: 2, Boot: time.Second, After: 300 * time.Millisecond, DownAfter: 500 * time.Millisecond, Work: 40 * time.Millisecond}
	s := serve(t, server, func(c *Config) { c.Capacity = of })
	if n := s.metric(t, "service_capacity"); n != 1 {
		t.Fatalf("a capacity of %g", n)
	}
	var payments atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer end()
	pay := func() {
		if code, answer := s.pay(t, fmt.Sprint("pay-", payments.Add(1))); code != http.StatusCreated {
			t.Errorf("%d %v", code, answer)
		}
	}
	begin := time.Now()
	for range 2 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					pay()
				}
			}
		})
	}
	polltest.Until(t, "a request waits", func() bool { return s.metric(t, "service_requests_waiting") == 1 })
	polltest.Until(t, "the second instance serves", func() bool { return s.metric(t, "service_capacity") == 2 })
	if took := time.Since(begin); took < of.After+of.Boot {
		t.Errorf("the second instance served after %v", took)
	}
	queue := func() (seconds, requests float64) {
		return s.metric(t, "http_request_queue_seconds_sum"), s.metric(t, "http_request_queue_seconds_count")
	}
	before, n := queue()
	one := before / n
	if one < of.Work.Seconds()/2 {
		t.Errorf("with one worker each of %g requests waited %g s, and the other took at least %v", n, one, of.Work)
	}
	var after, more float64
	polltest.Until(t, "twenty more payments", func() bool { after, more = queue(); return more >= n+20 })
	if two := (after - before) / (more - n); two >= one {
		t.Errorf("with two workers each of %g requests waited %g s, with one %g s", more-n, two, one)
	}
	end()
	polltest.Until(t, "the second instance ends", func() bool { return s.metric(t, "service_capacity") == 1 })
	for _, text := range []string{"instance ordered", "capacity changed", "requests=2 before=1", "requests=1 before=2"} {
		if !strings.Contains(s.log.String(), text) {
			t.Errorf("the log has no %q", text)
		}
	}
}

// A capacity of N ends no more than N / work requests per second, and one that waits for its
// time-out is refused; what monitors the service does not wait.
func testCapacityIsALimit(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) { c.Capacity = Capacity{Slots: 4, DownAfter: time.Minute, Work: 50 * time.Millisecond} })
	const payments = 24
	begin := time.Now()
	atOnce(payments, func(i int) {
		if code, answer := s.pay(t, fmt.Sprint("pay-", i)); code != http.StatusCreated {
			t.Errorf("%d %v", code, answer)
		}
	})
	if took, least := time.Since(begin), payments/4*50*time.Millisecond; took < least {
		t.Errorf("%d payments in %v, want at least %v", payments, took, least)
	}
	busy := serve(t, server, func(c *Config) {
		c.RequestTimeout = time.Second
		c.Capacity = Capacity{Slots: 1, DownAfter: time.Minute, Work: 900 * time.Millisecond}
	})
	var refused atomic.Int64
	var clients sync.WaitGroup
	for i := range 10 { // at its own time-out one gives its slot to the next
		clients.Go(func() {
			code, answer := busy.pay(t, fmt.Sprint("busy-", i))
			if code == http.StatusServiceUnavailable && answer["error"] == "no free worker within 1s" {
				refused.Add(1)
			}
		})
	}
	polltest.Until(t, "requests wait", func() bool { return busy.metric(t, "service_requests_waiting") > 0 })
	clients.Wait()
	if n := refused.Load(); n == 0 || busy.metric(t, `service_errors_total{class="no free worker"}`) != float64(n) {
		t.Errorf("%d requests were refused", n)
	}
	if n := busy.metric(t, "service_requests_waiting"); n != 0 {
		t.Errorf("%g requests wait when all have ended", n)
	}
	if code, _ := busy.pay(t, "later"); code != http.StatusCreated {
		t.Errorf("%d after requests were refused", code)
	}
}

// Without a limit there are no such metrics; the least time is kept.
func testWorkWithoutALimit(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) { c.Capacity.Work = 200 * time.Millisecond })
	begin := time.Now()
	if code, _ := s.pay(t, "a"); code != http.StatusCreated || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("%d in %v", code, time.Since(begin))
	}
	if _, found := s.lookup(t, "service_capacity"); found {
		t.Error("a service without a limit has a capacity")
	}
}
