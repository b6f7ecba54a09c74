//go:build long

package run_test

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// The percentiles in the record agree within 1 % with the raw latencies that k6 wrote in
// the same run of two workers, and no sample is missing.
func TestLongPercentilesAgreeWithRawLatencies(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		// Log-normal, so that the tail is long: median 5 ms, p99.9 about 110 ms.
		time.Sleep(time.Duration(5e6 * math.Exp(rand.NormFloat64())))
	}))
	defer server.Close()
	o := options(t, steady(150, 10*time.Second), getScript, server.URL)
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
