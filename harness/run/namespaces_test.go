package run_test

import (
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
)

// tail answers after a time with a long tail that depends on nothing but the request's
// number: 5 ms to 9 ms, and every fiftieth 100 ms.
type tail struct{}

func (tail) ServeHTTP(http.ResponseWriter, *http.Request) {
	time.Sleep(5 * time.Millisecond)
}

// One, two, four and eight workers on hosts of their own follow the same schedule
// together, and their merged percentiles are those of all samples pooled.
func TestFleetIsOneWorker(t *testing.T) {
	p := loose(steady(80, 8*time.Second))
	p.Load.Even = false
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			expectPass(t, func(t *testing.T) verdict.Verdict {
				s := newSite(t, tail{})
				raw := t.TempDir()
				c := s.certify(p, n, func(o *coordinatorOptions) { o.Outputs = []string{"csv=" + filepath.Join(raw, "%d.csv")} })
				c.workers(n)
				r := c.wait()
				checkSchedule(t, r)
				scheduled, _ := checkAccounted(t, r)
				if scheduled != r.Plan.Load.Arrivals() {
					t.Errorf("%d transactions were scheduled, the plan has %d", scheduled, r.Plan.Load.Arrivals())
				}
				var pooled []float64
				for i := range n {
					pooled = append(pooled, rawDurations(t, filepath.Join(raw, fmt.Sprintf("%d.csv", i)), metric.TransactionDuration)...)
				}
				slices.Sort(pooled)
				h := r.Timeline.Hist(metric.TransactionDuration, nil, whole(r))
				if h.Count() != uint64(len(pooled)) {
					t.Errorf("the record has %d samples, the workers wrote %d", h.Count(), len(pooled))
				}
				for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
					got, _ := h.Quantile(q)
					want := pooled[int(math.Ceil(q*float64(len(pooled))))-1]
					if math.Abs(got-want) > 0.005*want {
						t.Errorf("p%g is %.3f ms in the record, %.3f ms in the pooled samples", 100*q, got, want)
					}
				}
				v := verdict.Judge(r)
				if len(v.Generator.Fleet) != n || len(r.Environment.CoLocation) > 0 && n == 0 {
					t.Errorf("%d workers in the certificate", len(v.Generator.Fleet))
				}
				checkStart(t, v)
				return v
			})
		})
	}
}
