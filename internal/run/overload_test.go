//go:build long

package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// A service that is too slow for one transaction in four while it is overloaded, and for all
// of them until 7 s after that: goodput and settle_time are what it did, whatever else the
// machine does.
func TestLongOverloadOfAService(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	const bound, slow = 2 * time.Second, 4 * time.Second
	var t0 atomic.Int64 // ns
	var requests atomic.Int64
	const begin, end, settled = 12 * time.Second, 18 * time.Second, 25 * time.Second
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		at := time.Duration(time.Now().UnixNano() - t0.Load())
		n := requests.Add(1)
		if at >= begin && at < end && n%4 == 0 || at >= end && at < settled {
			time.Sleep(slow)
		}
	}))
	defer server.Close()
	limit := func(name string, d time.Duration) spec.SLO {
		return spec.SLO{Metric: name, Expression: fmt.Sprintf("max<%d", d.Milliseconds()), Aggregate: spec.Max, Operator: "<", Bound: float64(d.Milliseconds())}
	}
	p := steady(1, time.Second)
	p.Flows[0].Load = stages(
		spec.Stage{Rate: 20, For: 2 * time.Second}, spec.Stage{Rate: 40, For: 10 * time.Second, Judge: true},
		spec.Stage{Rate: 60, For: 6 * time.Second, Overload: true}, spec.Stage{Rate: 40, For: 24 * time.Second, Judge: true},
	)
	p.Flows[0].SLOs = []spec.SLO{
		below(50, float64(bound.Milliseconds())), limit(metric.SettleTime, 12*time.Second),
		{Metric: metric.Goodput, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9},
	}
	expectPass(t, func(t *testing.T) verdict.Verdict {
		o := options(t, p, getScript, server.URL)
		o.Progress = func(e run.Event) {
			if e.Kind == run.Enter && e.Stage.Start == 0 {
				t0.Store(time.Now().Add(-e.Offset).UnixNano())
			}
		}
		v := verdict.Judge(certify(t, o))
		if v.Outcome != verdict.Pass {
			return v
		}
		for _, s := range v.SLOs {
			switch s.Metric {
			case metric.Goodput:
				const truth = 60.0 / 40 * 3 / 4
				if *s.Observed < truth*0.99 || *s.Observed > truth*1.01 {
					t.Errorf("goodput %g, want about %g", *s.Observed, truth)
				}
			case metric.SettleTime:
				if truth := float64((settled - end).Milliseconds()); *s.Observed < truth-1000 || *s.Observed > truth+1000 {
					t.Errorf("settle_time %g ms, want about %g", *s.Observed, truth)
				}
			}
		}
		return v
	})
}
