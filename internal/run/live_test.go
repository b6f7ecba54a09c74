//go:build live

package run

import (
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func TestAbortConditionHoldsForWholeSpan(t *testing.T) {
	frame := func(second int64, occurred, total float64) metric.Frame {
		return metric.Frame{Second: second, Points: []metric.Point{
			metric.CounterPoint(metric.NewSeries("http_req_failed.occurred", "", "name", "pay"), occurred),
			metric.CounterPoint(metric.NewSeries("http_req_failed.total", "", "name", "pay"), total),
		}}
	}
	abort := []spec.Abort{{Metric: "http_req_failed", Expression: "rate>0.5 for 3s", Limit: 0.5, For: 3 * time.Second}}
	for name, c := range map[string]struct {
		shares [][2]float64
		want   bool
	}{
		"all three over":             {[][2]float64{{6, 10}, {10, 10}, {8, 10}}, true},
		"one at the limit":           {[][2]float64{{6, 10}, {5, 10}, {8, 10}}, false},
		"a second without a request": {[][2]float64{{6, 10}, {0, 0}, {8, 10}}, true},
		"no second with one":         {[][2]float64{{0, 0}, {0, 0}, {0, 0}}, false},
		"only two seconds so far":    {[][2]float64{{6, 10}, {8, 10}}, false},
	} {
		w := newWatcher(abort, 0)
		for i, s := range c.shares {
			w.add(frame(int64(100+i), s[0], s[1]))
		}
		if got := w.abortCondition(100, int64(99+len(c.shares))) != nil; got != c.want {
			t.Errorf("%s: abort is %t, want %t", name, got, c.want)
		}
	}
}

// Senders other than the workers neither stop a run nor move its clock.
func TestWatcherIgnoresOtherSenders(t *testing.T) {
	w := newWatcher([]spec.Abort{{Metric: "http_req_failed", Expression: "rate>0.5 for 1s", Limit: 0.5, For: time.Second}}, 0)
	points := []metric.Point{
		metric.CounterPoint(metric.NewSeries("http_req_failed.occurred", ""), 10),
		metric.CounterPoint(metric.NewSeries("http_req_failed.total", ""), 10),
		metric.CounterPoint(metric.Of(metric.Transactions, "outcome", metric.Completed), 10),
	}
	for _, second := range []int64{100, 1_000_000} {
		w.add(metric.Frame{Source: "otlp/shop", Second: second, Points: points})
		if w.abortCondition(0, second) != nil || w.at(second) != (Live{}) {
			t.Errorf("second %d: aborted, or %+v", second, w.at(second))
		}
	}
	w.add(metric.Frame{Source: metric.WorkerSource(0), Second: 101, Points: points})
	if w.abortCondition(0, 101) == nil || w.at(101).Ended[0] != 10 {
		t.Errorf("a worker's frame is ignored: %+v", w.at(101))
	}
}
