package run

import (
	"sync"

	"assay/harness/observe/metric"
)

// Live is the last whole second of the load, for people who watch; nothing is
// judged by it.
type Live struct {
	Scheduled, Completed, Failed, TimedOut, Dropped float64
	P95                                             float64 // ms, of the last five seconds
	HasP95                                          bool
}

// watcher keeps the last seconds of the workers' frames.
type watcher struct {
	mu      sync.Mutex
	seconds map[int64]*liveSecond
}

type liveSecond struct {
	live Live
	hist metric.Hist
}

// watched is for how many seconds late completions still count.
const watched = 10

func newWatcher() *watcher { return &watcher{seconds: map[int64]*liveSecond{}} }

func (w *watcher) add(f metric.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range f.Points {
		name := p.Series.Name
		if name != metric.Transactions && name != metric.TransactionsScheduled && name != metric.TransactionDuration {
			continue
		}
		s := w.seconds[f.Second]
		if s == nil {
			s = &liveSecond{}
			w.seconds[f.Second] = s
			for old := range w.seconds {
				if old < f.Second-watched {
					delete(w.seconds, old)
				}
			}
		}
		switch {
		case name == metric.TransactionsScheduled:
			s.live.Scheduled += p.Value
		case name == metric.TransactionDuration:
			s.hist.Merge(p.Hist)
		default:
			switch p.Series.Label("outcome") {
			case metric.Completed:
				s.live.Completed += p.Value
			case metric.Failed:
				s.live.Failed += p.Value
			case metric.TimedOut:
				s.live.TimedOut += p.Value
			case metric.Dropped:
				s.live.Dropped += p.Value
			}
		}
	}
}

// at is the second's counts with the percentile of the five up to it.
func (w *watcher) at(second int64) Live {
	w.mu.Lock()
	defer w.mu.Unlock()
	var live Live
	if s := w.seconds[second]; s != nil {
		live = s.live
	}
	var h metric.Hist
	for back := range int64(5) {
		if s := w.seconds[second-back]; s != nil {
			h.Merge(&s.hist)
		}
	}
	live.P95, live.HasP95 = h.Quantile(0.95)
	return live
}
