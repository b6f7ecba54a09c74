//go:build long

package run_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
)

// stallingServer does not respond during the first second of every ten.
func stallingServer(t *testing.T) *httptest.Server {
	start := time.Now()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if in := time.Since(start) % (10 * time.Second); in < time.Second {
			time.Sleep(time.Second - in)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// A server that stalls for 1 s in 10 s delays a tenth of the arrivals, evenly from 1 s
// down to 0: the share over 100 ms is 9 %, the 95th percentile 500 ms. Both are higher,
// because the server takes longer for the 150 requests queued by a stall. Closed-loop k6
// would see none of the stalls: its VUs wait with the server.
func TestLongServerStallsCountInLatency(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	share, p95 := stallsInLatency(t)
	t.Logf("over 100 ms: %.2f %%, p95 %.0f ms", 100*share, p95)
	if share < 0.95*0.09 || share > 0.3 {
		t.Errorf("%.2f %% of the transactions took over 100 ms, want 9 %% and a little", 100*share)
	}
	if p95 < 0.95*500 || p95 > 1000 {
		t.Errorf("p95 is %.0f ms, want 500 and a little", p95)
	}
}

// stallsInLatency is the share of transactions over 100 ms, and the 95th percentile in
// milliseconds, in a run against a server that stalls.
func stallsInLatency(t *testing.T) (share, p95 float64) {
	t.Helper()
	server := stallingServer(t)
	p := steady(150, 30*time.Second)
	bound := p.Flows[0].SLOs[0]
	bound.Expression, bound.Bound = "p(95)<100", 100
	// Three stalls are too few to decide p(95), and enough to decide p(99).
	sure := bound
	sure.Expression, sure.Quantile = "p(99)<100", 0.99
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, bound, sure)
	v := verdict.Judge(certify(t, options(t, p, getScript, server.URL)))
	for _, s := range v.SLOs {
		switch s.Expression {
		case sure.Expression:
			if s.Outcome != verdict.Fail {
				t.Errorf("%s is %s, want FAIL", s.Expression, s.Outcome)
			}
		case bound.Expression:
			share, p95 = float64(*s.Violations)/float64(*s.Samples), *s.Observed
		}
	}
	if v.Outcome != verdict.Fail {
		t.Errorf("verdict %s, want FAIL: %s", v.Outcome, v.Claim)
	}
	return share, p95
}
