//go:build long

package run_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/pitest"
)

// redoLog simulates, for a service and for Performance Insights, a database whose commits
// wait for the flush of its redo log, to a volume that becomes slow once its burst credits
// are used up. It counts how long sessions waited in each second.
type redoLog struct {
	noCredits atomic.Bool

	mu     sync.Mutex
	waited map[int64]float64 // s, by Unix second
}

// The flush times differ by far more than a busy machine adds.
const (
	flushTime     = 10 * time.Millisecond
	slowFlushTime = 250 * time.Millisecond
)

func (l *redoLog) ServeHTTP(http.ResponseWriter, *http.Request) {
	begin := time.Now()
	if l.noCredits.Load() {
		time.Sleep(slowFlushTime)
	} else {
		time.Sleep(flushTime)
	}
	end := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for begin.Before(end) { // split over the seconds that it spans
		next := time.Unix(begin.Unix()+1, 0)
		if next.After(end) {
			next = end
		}
		l.waited[begin.Unix()] += next.Sub(begin).Seconds()
		begin = next
	}
}

func (l *redoLog) load(second int64) []pitest.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []pitest.Session{
		{Event: "wait/io/redo_log_flush", Statement: "COMMIT", Sessions: l.waited[second]},
		{Event: "CPU", Statement: "SELECT ?", Sessions: 0.02},
	}
}

// The bottleneck is found from Performance Insights just as from a database that is
// sampled directly: here commits that wait for their flush.
func TestLongCauseFromPerformanceInsights(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		log := &redoLog{waited: map[int64]float64{}}
		api, insights := performanceInsights.Serve(t)
		api.Load, api.Late = log.load, time.Second
		server := httptest.NewServer(log)
		defer server.Close()
		p := loose(steady(55, 15*time.Second))
		p.Flows[0].Load.Even, p.Flows[0].Load.Warmup, p.Flows[0].Load.Baseline = false, 2*time.Second, spec.Baseline{Rate: 12, For: 8 * time.Second}
		p.Flows[0].SLOs[0].Expression, p.Flows[0].SLOs[0].Bound = "p(50)<50", 50 // met at the baseline
		o := options(t, p, getScript, server.URL)
		o.Insights = &insights
		o.Progress = during(0, func() { log.noCredits.Store(true) })
		r := certify(t, o)
		v := verdict.Judge(r)
		if v.Outcome != verdict.Fail {
			return v
		}
		b := diagnose.Of(r, v).Bottleneck
		if b != nil && b.Component == diagnose.Undetermined { // the machine starved the service as well
			t.Log(b.Sentence)
			v.Outcome = verdict.Inconclusive
			return v
		}
		if b == nil || b.Component != "commit" || b.Event != "io/redo_log_flush" || b.Confidence == nil || *b.Confidence < diagnose.MinConfidence {
			t.Errorf("the bottleneck is %+v", b)
		}
		return v
	})
}
