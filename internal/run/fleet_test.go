//go:build live

package run_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// reportingScript sends the target the number of the worker and the data of setup().
const reportingScript = `
import http from 'k6/http';
export function setup() {
  http.get(__ENV.ASSAY_TARGET + '/setup');
  return { token: 'of-' + __ENV.ASSAY_RUN, big: 'x'.repeat(100000) };
}
export default function (data) {
  http.get(__ENV.ASSAY_TARGET + '/?worker=' + __ENV.ASSAY_WORKER + '&token=' + data.token + '&size=' + data.big.length,
    { tags: { name: 'report' } });
}
export function teardown() { http.get(__ENV.ASSAY_TARGET + '/teardown'); }
`

// requestLog is a target that counts requests. It responds to worker 0 after 300 to 400 ms,
// and to the others after 10 ms. The time is random, because the slowest responses would
// otherwise be bursts from the machine's busy moments.
type requestLog struct {
	mu     sync.Mutex
	first  map[string]time.Time
	counts map[string]int
}

func (l *requestLog) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l.mu.Lock()
	key := r.URL.Path + " " + q.Get("worker") + " " + q.Get("token") + " " + q.Get("size")
	l.counts[key]++
	if l.first[q.Get("worker")].IsZero() {
		l.first[q.Get("worker")] = time.Now()
	}
	l.mu.Unlock()
	if q.Get("worker") == "0" {
		time.Sleep(290*time.Millisecond + rand.N(100*time.Millisecond))
	}
	time.Sleep(10 * time.Millisecond)
}

// Workers share one schedule, one setup() and one t0, and their frames are merged into one
// record.
func TestSeveralWorkers(t *testing.T) {
	t.Parallel()
	numbers := []int{3}
	if alone {
		numbers = []int{2, 3}
	}
	for _, n := range numbers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.3)
			expectPass(t, func(t *testing.T) verdict.Verdict {
				requests := &requestLog{first: map[string]time.Time{}, counts: map[string]int{}}
				server := httptest.NewServer(requests)
				defer server.Close()
				p := loose(steady(150, 10*time.Second))
				p.Flows[0].Load.Even = false
				o := options(t, p, reportingScript, server.URL)
				o.Workers = n
				r := certify(t, o)
				v := verdict.Judge(r)
				checkStart(t, v)
				checkAccounted(t, r)
				checkSchedule(t, r)

				wanted := map[string]int{"/setup   ": 1, "/teardown   ": 1}
				for i := range n {
					source := fmt.Sprintf("worker/%d", i)
					ended, _ := r.Timeline.SumOf(source, metric.Transactions, nil, record.All)
					wanted[fmt.Sprintf("/ %d of-%s 100000", i, o.ID)] = int(ended)
					if share := ended / float64(r.Plan.Load.Arrivals()); math.Abs(share-1/float64(n)) > 0.01 {
						t.Errorf("%s had %.3f of the transactions", source, share)
					}
				}
				requests.check(t, wanted)
				for _, s := range r.Timeline.Sources() {
					if strings.HasPrefix(s.Name, "worker/") && (!s.Closed || s.Missing > 0 || s.Frames < 10) {
						t.Errorf("stream of %s: %+v", s.Name, s)
					}
				}
				// 1/n of the requests take 300 ms, the others 10: the upper quantiles of the
				// merged histogram are the slow worker's. An average over workers would be in
				// between.
				h := r.Timeline.Hist(metric.TransactionDuration, nil, judged(r))
				low, _ := h.Quantile(0.5 - 1/float64(2*n))
				high, _ := h.Quantile(1 - 1/float64(2*n))
				if low < 10 || alone && low > 90 || high < 300 {
					t.Errorf("merged quantiles are %.1f and %.1f ms, want about 10 and 300", low, high)
				}
				return v
			})
		})
	}
}

// check fails the test unless the target received the wanted number of each request, and
// the first ones of the workers at about the same time.
func (l *requestLog) check(t *testing.T, wanted map[string]int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, count := range l.counts {
		if wanted[key] != count && !strings.HasPrefix(key, "/metrics") {
			t.Errorf("target received %d of %q, want %d", count, key, wanted[key])
		}
		delete(wanted, key)
	}
	if len(wanted) > 0 {
		t.Errorf("target did not receive %v", wanted)
	}
	delete(l.first, "") // the first request of setup() and teardown()
	starts := slices.SortedFunc(maps.Values(l.first), time.Time.Compare)
	if len(starts) == 0 {
		t.Fatal("target received no request of a worker")
	}
	if skew := starts[len(starts)-1].Sub(starts[0]); alone && skew > 500*time.Millisecond {
		t.Errorf("the workers' first arrivals are %s apart", skew)
	} else {
		t.Logf("start skew %s", skew.Round(time.Millisecond))
	}
}

// checkStart fails the test unless all workers reported the plan's seed, and started within
// the limit of each other.
func checkStart(t *testing.T, v verdict.Verdict) {
	t.Helper()
	passed := 0
	for _, rule := range v.Rules {
		if rule.ID != "seeded" && rule.ID != "start-skew" {
			continue
		}
		t.Logf("%s: %s", rule.ID, rule.Detail)
		if rule.Outcome == verdict.Pass {
			passed++
		}
		if rule.ID == "start-skew" && (rule.Observed == nil || *rule.Observed < 0 || alone && *rule.Observed > *rule.Limit) {
			t.Errorf("start-skew %+v", rule)
		}
	}
	if alone && passed != 2 {
		t.Error("the rules seeded and start-skew are not both PASS")
	}
}

// checkSchedule compares the slots of all workers with the whole schedule, second by
// second.
func checkSchedule(t *testing.T, r record.Run) {
	t.Helper()
	want := map[int64]float64{}
	p := r.Plan.Load
	s := arrivals.NewSchedule(p.Stages, p.Seed, p.Even, arrivals.Whole)
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		want[r.Facts.T0.Unix()+int64(due/time.Second)]++
	}
	got := r.Timeline.BySecond(metric.TransactionsScheduled, nil)
	for second, n := range want {
		if got[second] != n {
			t.Errorf("second %d: %g slots were due, the schedule has %g", second-r.Facts.T0.Unix(), got[second], n)
		}
		delete(got, second)
	}
	for second, n := range got {
		t.Errorf("second %d: %g slots were due, the schedule has none", second-r.Facts.T0.Unix(), n)
	}
}
