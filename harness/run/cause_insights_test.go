package run_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/observe/collect/pi/pitest"
	"assay/harness/spec"
)

// redoLog simulates, for a service and for Performance Insights, a database that flushes
// one commit at a time. It counts how long sessions waited for their flush in each
// second.
type redoLog struct {
	flush sync.Mutex

	mu     sync.Mutex
	waited map[int64]float64 // s, by Unix second
}

const flushTime = 14 * time.Millisecond

func (l *redoLog) ServeHTTP(http.ResponseWriter, *http.Request) {
	begin := time.Now()
	l.flush.Lock()
	time.Sleep(flushTime)
	l.flush.Unlock()
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
// sampled directly: here commits that queue for their flush.
func TestCauseFromPerformanceInsights(t *testing.T) {
	log := &redoLog{waited: map[int64]float64{}}
	t.Parallel()
	api, insights := performanceInsights.Serve(t)
	api.Load, api.Late = log.load, time.Second
	server := httptest.NewServer(log)
	defer server.Close()
	p := loose(steady(55, 15*time.Second))
	p.Load.Even, p.Load.Warmup, p.Load.Baseline = false, 2*time.Second, spec.Baseline{Rate: 12, For: 8 * time.Second}
	p.SLOs[0].Expression, p.SLOs[0].Bound = "p(50)<20", 20 // met at the baseline
	o := options(t, p, getScript, server.URL)
	o.Insights = &insights
	r := certify(t, o)
	f := diagnose.Of(r, verdict.Judge(r))
	if b := f.Bottleneck; b == nil || b.Component != "commit" || b.Event != "io/redo_log_flush" || b.Confidence == nil || *b.Confidence < diagnose.MinConfidence {
		t.Errorf("the bottleneck is %+v", b)
	}
}
