package run_test

import (
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
)

// rawDurations reads a metric's samples from k6's CSV output, in ms.
func rawDurations(t *testing.T, path, name string) (values []float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		if row[0] != name {
			continue
		}
		v, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
}

// The percentiles in the record agree within 1 % with the raw latencies that k6 wrote in
// the same run of two workers, and no sample is missing.
func TestPercentilesAgreeWithRawLatencies(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		// Log-normal, so that the tail is long: median 5 ms, p99.9 about 110 ms.
		time.Sleep(time.Duration(5e6 * math.Exp(rand.NormFloat64())))
	}))
	defer server.Close()
	o := options(t, steady(150, 20*time.Second), getScript, server.URL)
	o.Workers = 2
	dir := filepath.Dir(o.Dir)
	o.Outputs = []string{"csv=" + filepath.Join(dir, "raw-%d.csv")}
	r := certify(t, o)
	for _, name := range []string{metric.TransactionDuration, "http_req_duration", "http_req_waiting"} {
		raw := append(rawDurations(t, filepath.Join(dir, "raw-0.csv"), name), rawDurations(t, filepath.Join(dir, "raw-1.csv"), name)...)
		slices.Sort(raw)
		h := r.Timeline.Hist(name, nil, whole(r))
		if h.Count() != uint64(len(raw)) {
			t.Errorf("%s: the record has %d samples, k6 wrote %d", name, h.Count(), len(raw))
		}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			got, _ := h.Quantile(q)
			want := raw[int(math.Ceil(q*float64(len(raw))))-1]
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("%s: p%g is %.3f ms in the record, %.3f ms in the raw samples", name, 100*q, got, want)
			}
			t.Logf("%s p%g: record %.3f ms, raw %.3f ms", name, 100*q, got, want)
		}
	}
}

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
// down to 0: the share over 100 ms is 9 %, the 95th percentile 500 ms. On a busy machine
// both are higher, because the server takes longer for the 150 requests queued by a stall:
// one of three runs must be near. Closed-loop k6 would see none of the stalls: its VUs
// wait with the server.
func TestServerStallsCountInLatency(t *testing.T) {
	t.Parallel()
	var share, p95 float64
	for range 3 {
		share, p95 = stallsInLatency(t)
		t.Logf("over 100 ms: %.2f %%, p95 %.0f ms", 100*share, p95)
		if share < 0.95*0.09 {
			t.Fatalf("%.2f %% of the transactions took over 100 ms, want at least 9 %%", 100*share)
		}
		if p95 < 0.95*500 {
			t.Fatalf("p95 is %.0f ms, want at least 500", p95)
		}
		if share <= 0.3 && p95 <= 1000 {
			return
		}
	}
	t.Errorf("%.2f %% of the transactions took over 100 ms, want 9 %% and a little; p95 is %.0f ms, want 500 and a little", 100*share, p95)
}

// stallsInLatency is the share of transactions over 100 ms, and the 95th percentile in
// milliseconds, in a run against a server that stalls.
func stallsInLatency(t *testing.T) (share, p95 float64) {
	t.Helper()
	server := stallingServer(t)
	p := steady(150, 30*time.Second)
	bound := p.SLOs[0]
	bound.Expression, bound.Bound = "p(95)<100", 100
	// Three stalls are too few to decide p(95), and enough to decide p(99).
	sure := bound
	sure.Expression, sure.Quantile = "p(99)<100", 0.99
	p.SLOs = append(p.SLOs, bound, sure)
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

// When the generator itself is stopped for 5 s, the delays are its own: the run is
// INVALID, not FAIL.
func TestGeneratorStallsInvalidate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := steady(200, 20*time.Second)
	// A busy machine answers the requests that have waited in the generator late, but not
	// that late.
	p.SLOs[0].Expression, p.SLOs[0].Bound = "p(95)<1000", 1000
	o := options(t, p, getScript, server.URL)
	stopped := make(chan error, 1)
	o.Progress = during(5*time.Second, func() { stopped <- suspend(worker(t, o.ID, 0), 5*time.Second) })
	r := certify(t, o)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	v := verdict.Judge(r)
	if v.Outcome != verdict.Invalid {
		t.Errorf("verdict %s, want INVALID: %s", v.Outcome, v.Claim)
	}
	found := brokenRules(v)
	if found["offered"] == "" {
		t.Errorf("the rule offered is not broken; broken: %v", found)
	}
	maps.DeleteFunc(found, func(id, _ string) bool { return verdict.IsGeneratorRule(id) })
	if len(found) > 0 {
		t.Errorf("broken as well: %v", found)
	}
}

// suspend suspends a process for the given time.
func suspend(pid int, length time.Duration) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(length)
	return syscall.Kill(pid, syscall.SIGCONT)
}
