package run

import (
	"slices"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Live is the last whole second of the load, for the console. It has no part in the
// verdict.
type Live struct {
	Ended         [4]float64 // transactions, by metric.Outcomes
	P95           float64    // ms, of the last five seconds
	HasP95        bool
	PersistLag    float64 // ms, the latest reading of the last five seconds
	HasPersistLag bool
}

// watcher keeps the last seconds of the workers' frames.
type watcher struct {
	mu      sync.Mutex
	latest  int64 // newest second of a frame
	abort   []spec.Abort
	guards  []*guard // guard of each condition; nil: the condition is on the load
	seconds map[int64]*liveSecond
}

type liveSecond struct {
	live Live
	hist metric.Hist
	rate map[string]*counts // by metric of an abort condition
}

// counts are those of a rate metric.
type counts struct{ occurred, total float64 }

// lateSeconds is how many seconds are kept for late completions, in addition to
// the time that an abort condition looks back.
const lateSeconds = 10

// newWatcher watches the conditions of a run with that many replicas.
func newWatcher(abort []spec.Abort, readers int) *watcher {
	w := &watcher{abort: abort, seconds: map[int64]*liveSecond{}}
	for _, a := range abort {
		w.guards = append(w.guards, newGuard(a, readers))
	}
	return w
}

func (w *watcher) add(f metric.Frame) {
	if metric.IsForeign(f.Source) {
		return // it says nothing of the last second, and its clock may differ
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.guards {
		if g != nil {
			g.add(f)
		}
	}
	if f.Source == metric.SourceGauges {
		w.addLag(f)
		return
	}
	w.latest = max(w.latest, f.Second)
	for _, p := range f.Points {
		switch name := p.Series.Name; name {
		case metric.TransactionDuration:
			w.second(f.Second).hist.Merge(p.Hist)
		case metric.Transactions:
			if i := slices.Index(metric.Outcomes, p.Series.Label("outcome")); i >= 0 {
				w.second(f.Second).live.Ended[i] += p.Value
			}
		default:
			// Requests are counted in the second of their transaction's arrival, which
			// may be long ago; an abort condition is about those that end now.
			w.addRate(w.latest, name, p.Value)
		}
	}
}

// addLag keeps the persist lag. It does not move the newest second of a frame, which is
// that of the load.
func (w *watcher) addLag(f metric.Frame) {
	for _, p := range f.Points {
		if p.Series.Name == metric.PersistLagNow {
			live := &w.second(f.Second).live
			live.PersistLag, live.HasPersistLag = p.Value, true
		}
	}
}

func (w *watcher) addRate(second int64, name string, v float64) {
	for _, a := range w.abort {
		if name != a.Metric+metric.RateOccurred && name != a.Metric+metric.RateTotal {
			continue
		}
		s := w.second(second)
		if s.rate[a.Metric] == nil {
			s.rate[a.Metric] = &counts{}
		}
		if name == a.Metric+metric.RateTotal {
			s.rate[a.Metric].total += v
		} else {
			s.rate[a.Metric].occurred += v
		}
		return // several conditions on one metric share its counts
	}
}

func (w *watcher) second(second int64) *liveSecond {
	s := w.seconds[second]
	if s == nil {
		s = &liveSecond{rate: map[string]*counts{}}
		w.seconds[second] = s
		keep := int64(lateSeconds)
		for _, a := range w.abort {
			keep = max(keep, lateSeconds+int64(a.For/time.Second))
		}
		for old := range w.seconds {
			if old < second-keep {
				delete(w.seconds, old)
			}
		}
	}
	return s
}

// abortCondition returns the first abort condition that held throughout its span, which ends
// with the given second. nil: none. No span begins before first, the run's first second.
func (w *watcher) abortCondition(first, second int64) *record.Abort {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range w.abort {
		if g := w.guards[i]; g == nil {
			if aborted := w.heldByLoad(a, first, second); aborted != nil {
				return aborted
			}
		} else if held := g.held(first, second); held != nil {
			return g.abort(held)
		}
	}
	return nil
}

// heldByLoad is abortCondition for a rate of the load: it held in every second of the span
// that has samples, and in at least one. Seconds without samples are skipped, because
// requests to a target that hangs end in bursts.
func (w *watcher) heldByLoad(a spec.Abort, first, second int64) *record.Abort {
	span := max(1, int64(a.For/time.Second))
	from, all := second-span+1, counts{}
	if from < first {
		return nil
	}
	var held []record.Reading
	for at := from; at <= second; at++ {
		s := w.seconds[at]
		if s == nil || s.rate[a.Metric] == nil || s.rate[a.Metric].total == 0 {
			continue
		}
		rate := s.rate[a.Metric]
		share := rate.occurred / rate.total
		if share <= a.Limit {
			return nil
		}
		all.occurred, all.total = all.occurred+rate.occurred, all.total+rate.total
		held = append(held, record.Reading{Second: at, Value: share})
	}
	if len(held) == 0 {
		return nil
	}
	return &record.Abort{
		Metric: a.Metric, Expression: a.Expression, Limit: a.Limit, From: from, To: second + 1, Occurred: all.occurred, Total: all.total, Observed: held,
	}
}

// unread returns what has changed in whether the sources of abort conditions are read.
func (w *watcher) unread(first, second int64) (texts []string) {
	return w.eachGuard(func(g *guard) string { return g.change(first, second) })
}

// limitations say which abort conditions could not be watched in the seconds [first, end).
func (w *watcher) limitations(first, end int64) []string {
	return w.eachGuard(func(g *guard) string { return g.limitation(first, end) })
}

// eachGuard collects the texts of the guards that have one.
func (w *watcher) eachGuard(text func(*guard) string) (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.guards {
		if g == nil {
			continue
		}
		if t := text(g); t != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// persistLag returns the persist lag of the newest of the five seconds up to one.
func (w *watcher) persistLag(second int64) (ms float64, ok bool) {
	live := w.at(second)
	return live.PersistLag, live.HasPersistLag
}

// at returns the counts of a second, the p95 of the five seconds up to it, and the latest
// persist lag of these.
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
			if !live.HasPersistLag {
				live.PersistLag, live.HasPersistLag = s.live.PersistLag, s.live.HasPersistLag
			}
		}
	}
	live.P95, live.HasP95 = h.Quantile(0.95)
	return live
}
