package k6

import (
	"slices"
	"time"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/metric"
)

// browserTimes begins the names of the metrics of k6/browser, whose waits nobody times.
const browserTimes = "browser_"

// waitTimes are metrics of times for which the script waits for the system under test, apart
// from requests: that of a session of WebSockets is from its opening to its end.
var waitTimes = []string{sql.ConnectingMetric, sql.DurationMetric, sessionTime}

const sessionTime = "ws_session_duration"

// span is a time of a transaction, since t0.
type span struct{ from, to time.Duration }

// waits is for what, and when, the script of a transaction has waited so far. Spans of one
// kind may overlap.
type waits struct {
	open      []span          // it had a request, a stream or a session open
	timers    []span          // it slept, or a timer that has fired was set
	connected []time.Duration // when it has connected: it waited before and after, for how long is not known
	calls     bool            // its VU uses other protocols than HTTP, or a database
	lacked    string          // class of an error of the generator's host; empty: there was none
}

func (w *waits) reset() {
	*w = waits{calls: w.calls, open: w.open[:0], timers: w.timers[:0], connected: w.connected[:0]}
}

// maxSpans bounds the spans of a transaction. Beyond it, the time between two is taken for a
// part of the last one.
const maxSpans = 1 << 14

// lengthened adds a span.
func lengthened(all []span, of span) []span {
	if n := len(all); n == maxSpans || n > 0 && of.from <= all[n-1].to && of.from >= all[n-1].from {
		all[n-1].to = max(all[n-1].to, of.to)
		return all
	}
	return append(all, of)
}

func (w *waits) add(of arrivals.Wait) {
	if of.Lacked != "" {
		w.lacked = of.Lacked
	}
	switch s := (span{of.From, of.To}); of.Kind {
	case arrivals.AtTimer:
		w.timers = lengthened(w.timers, s)
	case arrivals.AtRequest:
		w.open = lengthened(w.open, s)
	default:
		w.open, w.calls = lengthened(w.open, s), true
		w.connected = append(w.connected, of.To)
	}
}

// union sorts and merges spans in place.
func union(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return int(a.from - b.from) })
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// without are pauses less the spans, which are sorted and do not overlap.
func without(pauses []arrivals.Pause, spans []span) (rest []arrivals.Pause) {
	for _, p := range pauses {
		for _, s := range spans {
			if s.to <= p.From || s.from >= p.To {
				continue
			}
			if s.from > p.From {
				before := p
				before.To = s.from
				rest = append(rest, before)
			}
			p.From = min(s.to, p.To)
		}
		if p.From < p.To {
			rest = append(rest, p)
		}
	}
	return rest
}

// settle tells, at the end of a VU's transaction, when it really paused, and when its script
// worked: the time in which it neither waited nor paused. Both excuse what they are part of. A
// sleep between two requests may be a wait for the system, as of one that is polled; a sleep
// before the first one or after the last one is none.
//
// A user does not think while a request is open: he waits for it. A request that k6 has not
// reported when the run ends may have been open at any time.
func (a *aggregate) settle(v *vu, start, end time.Duration, mayWait bool) {
	v.open = union(v.open)
	if len(v.pauses) > 0 {
		v.pauses = without(v.pauses, v.open)
	}
	v.working = v.working[:0]
	if v.timed = !mayWait && !arrivals.IsUntimed(); !v.timed {
		return
	}
	all := append(a.spans[:0], v.open...)
	for _, s := range v.timers {
		if n := len(v.open); n > 0 { // the system is not waited for before it is asked, or after its last answer
			s.from, s.to = max(s.from, v.open[0].from), min(s.to, v.open[n-1].to)
		}
		if s.from < s.to {
			all = append(all, s)
		}
	}
	for _, p := range v.pauses {
		all = append(all, span{p.From, p.To})
	}
	all = union(all)
	a.spans = all
	at := start
	worked := func(to time.Duration) {
		connected := func(t time.Duration) bool { return at <= t && t <= to }
		if at < to && !slices.ContainsFunc(v.connected, connected) {
			v.working = append(v.working, arrivals.Pause{From: at, To: to})
		}
	}
	for _, s := range all {
		worked(min(s.from, end))
		at = max(at, s.to)
	}
	worked(end)
}

// apportion tells whose the time of a transaction is, before it is counted. A slot that was taken
// late because the script's own work kept its VU busy was late by the generator.
func (a *aggregate) apportion(t *arrivals.Transaction, v *vu, f *flow) {
	if t.VU == "" {
		byScript := time.Duration(f.byScript * float64(t.Queueing))
		t.Lag, t.Queueing = t.Lag+byScript, t.Queueing-byScript
		return
	}
	start, end := t.Due+t.Lag+t.Queueing, t.Due+t.Latency+t.Think
	a.settle(v, start, end, t.Interrupted && (v.calls || t.Waits(v.requests)))
	if think := arrivals.PausedIn(v.pauses, start, end); think < t.Think {
		t.Thought(think)
		if t.Latency > f.Timeout {
			t.Outcome = arrivals.TimedOut
		}
	}
	v.worked = arrivals.PausedIn(v.working, start, end)
	if t.Interrupted { // it holds its VU until the end of the run
		f.byScript = float64(v.worked) / float64(max(1, end-start))
	}
	v.served, v.free = true, end-v.byScript-v.worked
	t.Lag, t.Queueing = t.Lag+v.byScript, t.Queueing-v.byScript
	a.release(v)
}

// release counts the samples that had to wait for the end of their transaction.
func (a *aggregate) release(v *vu) {
	v.settled = true
	for i := range v.deferred {
		a.sample(&v.deferred[i], nil)
	}
	v.deferred = v.deferred[:0]
}

// releaseAll counts all samples of transactions that have not ended when the run has.
func (a *aggregate) releaseAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.vus {
		a.release(v)
	}
}

// excused is how much of the time between two instants the VU's script worked, or the generator
// stalled while it did not.
func (a *aggregate) excused(v *vu, stalls *arrivals.Stalls, from, to time.Duration, pauses []arrivals.Pause) time.Duration {
	apart := append(append(a.apart[:0], pauses...), v.working...)
	a.apart = apart
	return arrivals.PausedIn(v.working, from, to) + stalls.Share(from, to, apart, wakeups*(1+v.requests), a.now)
}

// queued splits the delay of a slot for which its VU was busy: without the work of the script
// the VU would have been free earlier.
func (v *vu) queued(t *arrivals.TransactionStart) (byScript time.Duration) {
	if !v.served {
		return 0
	}
	return t.Queueing - min(t.Queueing, max(0, v.free-t.Due-t.Lag))
}

// isLack reports whether the generator is to blame for errors of a class.
func isLack(class string) bool { return slices.Contains(metric.Lacks, class) }
