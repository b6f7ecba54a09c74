//go:build live

package run_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// In the closed model there are never more transactions under way than threads, every one
// is counted, and the run certifies nothing.
func TestClosedModel(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	const threads = 4
	var open, most, served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.UserAgent(), "k6") {
			return // a request of the preflight
		}
		n := open.Add(1)
		defer open.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		served.Add(1)
		time.Sleep(20 * time.Millisecond)
	}))
	defer server.Close()
	r := certify(t, options(t, steady(10, 10*time.Second).WithThreads(threads, time.Second, 3*time.Second), getScript, server.URL))
	if most.Load() != threads {
		t.Errorf("at most %d requests were open at once, with %d threads", most.Load(), threads)
	}
	sum := func(outcome string) (n float64) {
		n, _ = r.Timeline.Sum(metric.Transactions, metric.NewSeries("", "", "outcome", outcome).Labels, record.All)
		return n
	}
	scheduled, _ := r.Timeline.Sum(metric.TransactionsScheduled, nil, record.All)
	if n := sum(metric.Completed); n == 0 || n != scheduled || int64(n) != served.Load() {
		t.Errorf("%g completed of %g begun, the server has seen %d", n, scheduled, served.Load())
	}
	v := verdict.Judge(r)
	if v.Outcome != verdict.Invalid {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}
