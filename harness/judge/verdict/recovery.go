package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// Recovery is how the system got over one disturbance: a fault that the run injected, or
// the end of that fault.
type Recovery struct {
	Number int    // of the fault in the profile, from 1
	Fault  string // like "kill b"
	End    bool   // the disturbance is the fault's end
	At     time.Time
	// FirstSuccess is the time from At until the first transaction ended as completed after
	// the last second, up to the recovery, in which none did.
	FirstSuccess Between
	// Recovered is the time from At, or for the end of a fault from the first second that
	// was broken after it, until the SLOs held again (recoveredFrom). Least is without the
	// generator's own delay.
	Recovered Between
	// Of the transactions that arrived from At until Recovered; nil without data.
	Scheduled, NotCompleted *int64
}

// unseen reports that the load ended too early to show anything of the disturbance.
func (r Recovery) unseen() bool { return r.Recovered.Least == nil }

// name is the fault, or its end.
func (r Recovery) name() string {
	if r.End {
		return "the end of " + r.Fault
	}
	return r.Fault
}

// Between bounds a time in ms: it is known to a second, as frames are. Most is nil where
// there is no upper bound, as the load ended first; both are nil without data.
type Between struct{ Least, Most *float64 }

// disturbance is a moment from which the system has to recover.
type disturbance struct {
	number int
	fault  spec.Fault
	end    bool
	at     time.Time
	// effective is when what was done had returned: the disturbance begins between at and
	// then, or up to spec.Settled later.
	effective time.Time
}

// settledSeconds is for how many seconds the SLOs must hold after a disturbance.
const settledSeconds = int64(spec.Settled / time.Second)

// loadEnd is the unix second in which the load ended.
func (e *evidence) loadEnd() int64 {
	end := e.Facts.T0.Add(e.plan.Duration()).Unix()
	if a := e.Facts.Aborted; a != nil {
		end = min(end, a.To)
	}
	if e.stoppedEarly() && !e.Facts.Ended.IsZero() {
		end = min(end, e.Facts.Ended.Unix())
	}
	return end
}

// disturbances are the faults that the run injected and ended, by time.
func (e *evidence) disturbances() (all []disturbance) {
	later := func(at, done time.Time) time.Time {
		if done.Before(at) {
			return at
		}
		return done
	}
	for i, f := range e.Plan.Profile.Faults {
		if i >= len(e.Facts.Faults) {
			break
		}
		fact := e.Facts.Faults[i]
		if fact.At.IsZero() || fact.Error != "" {
			continue
		}
		all = append(all, disturbance{number: i + 1, fault: f, at: fact.At, effective: later(fact.At, fact.Done)})
		if !fact.Ended.IsZero() && fact.Ended.Unix() < e.loadEnd() {
			all = append(all, disturbance{number: i + 1, fault: f, end: true, at: fact.Ended, effective: later(fact.Ended, fact.EndDone)})
		}
	}
	slices.SortStableFunc(all, func(a, b disturbance) int { return a.at.Compare(b.at) })
	return all
}

// recoveries judges each disturbance, and returns the seconds in which the system was
// recovering from it. Of a fault from which the system recovers only once it is ended, that
// end is a part of the recovery. There is no data on a disturbance that took effect too late
// for the load to show it.
func (e *evidence) recoveries() (all []Recovery, recovering []record.Span) {
	for _, d := range e.disturbances() {
		r := Recovery{Number: d.number, Fault: d.fault.String(), End: d.end, At: d.at}
		from := d.at.Unix()
		o := e.over(record.Span{From: from, To: e.loadEnd()})
		begin := d.effective.Unix() - from + settledSeconds // the disturbance has begun by then
		if begin+settledSeconds > o.seconds || !o.scheduled.found {
			all = append(all, r)
			continue
		}
		samples := o.sampledViolations()
		first, most, recovered := o.recoveredFrom(samples, begin, func(v violations) []stats.Batch { return v.possible })
		leastFirst, least, _ := o.recoveredFrom(samples, begin, func(v violations) []stats.Batch { return v.cleared })
		since := func(second int64) float64 {
			return max(0, float64(time.Unix(from+second, 0).Sub(d.at))/float64(time.Millisecond))
		}
		if d.end {
			r.Recovered.Least = pointer(1000 * float64(max(0, least-leastFirst-1)))
		} else {
			r.Recovered.Least = pointer(since(least - 1))
		}
		switch {
		case !recovered:
		case d.end:
			r.Recovered.Most = pointer(1000 * float64(most-first))
		default:
			r.Recovered.Most = pointer(since(most))
		}
		if success, answered := o.firstCompleted(most); e.has(metric.EndedTransactions, nil) {
			r.FirstSuccess.Least = pointer(since(success))
			if answered {
				r.FirstSuccess.Most = pointer(since(success + 1))
			}
		}
		u := e.over(record.Span{From: from, To: from + max(1, most)})
		r.Scheduled, r.NotCompleted = pointer(u.scheduled.n), pointer(u.notCompleted())
		all = append(all, r)
		if most > 0 { // a transaction that arrived just before was under way
			recovering = append(recovering, record.Span{From: from + first - 1, To: from + most})
		}
	}
	return all, recovering
}

// over is the evidence on other seconds than the judged ones.
func (e *evidence) over(spans ...record.Span) *evidence {
	o := *e
	o.restrict(spans, nil)
	return &o
}

// recoveryText says what the system recovered from, and how fast; empty: nothing was
// injected.
func (e *evidence) recoveryText() string {
	var texts []string
	for _, r := range e.recovered {
		name := r.name()
		switch {
		case r.unseen():
			texts = append(texts, name+": the load ended too early to show its effect")
		case r.Recovered.Most == nil:
			texts = append(texts, fmt.Sprintf("%s: not recovered after %s s", name, number(*r.Recovered.Least/1000)))
		default:
			texts = append(texts, fmt.Sprintf("%s: recovered within %s s", name, number(*r.Recovered.Most/1000)))
		}
	}
	return joinFirst(texts, 4)
}

// recoveredFrom finds the first second that is broken, of those up to begin, and the first
// one after the last of these that is not: from which the SLOs hold. A second is broken
// unless in it alone, with the next one, and so on up to settledSeconds, at most the share of
// samples violates that each SLO allows, and three standard deviations of chance. Without a
// broken second both are 0; ok is false if the SLOs do not hold again, and n is then the
// number of seconds.
func (e *evidence) recoveredFrom(all []sampled, begin int64, counted func(violations) []stats.Batch) (first, n int64, ok bool) {
	// held is how many seconds from one on hold together, settledSeconds if it is not broken.
	held := func(at int64) int64 {
		least := settledSeconds
		for _, v := range all {
			least = min(least, heldSeconds(counted(v.violations)[at:at+settledSeconds], v.share))
		}
		return least
	}
	last := e.seconds - settledSeconds
	first = -1
	for at := int64(0); at <= min(begin, last); at++ {
		seconds := held(at)
		if seconds == settledSeconds {
			continue
		}
		if first < 0 {
			first = at + seconds
		}
		n = at + 1
	}
	if first < 0 {
		return 0, 0, true
	}
	for ; n <= last; n++ {
		if held(n) == settledSeconds {
			return first, max(n, first), true
		}
	}
	return first, e.seconds, false
}

// sampled is the violations of an SLO, and the share of samples that it allows.
type sampled struct {
	violations
	share float64
}

// sampledViolations counts the violations of every SLO that samples decide, and of
// throughput.
func (e *evidence) sampledViolations() (all []sampled) {
	for _, s := range e.Plan.Profile.SLOs {
		switch {
		case !s.Sampled():
		case s.Aggregate == spec.Rate:
			all = append(all, sampled{e.rateViolations(s), s.AllowedShare()})
		default:
			all = append(all, sampled{e.latencyViolations(s, e.distribution(s.Metric, s.Selector)), s.AllowedShare()})
		}
	}
	return append(all, sampled{e.throughputViolations(), 1 - minThroughput})
}

// heldSeconds is how many seconds hold: the first one alone, the first two together, and
// so on. Seconds without a sample say nothing.
func heldSeconds(seconds []stats.Batch, q float64) int64 {
	total := stats.Batch{}
	for i, b := range seconds {
		total.N, total.K = total.N+b.N, total.K+b.K
		if total.K > q*total.N+3*math.Sqrt(total.N*q*(1-q)) {
			return int64(i)
		}
	}
	return int64(len(seconds))
}

// firstCompleted is the second after the last one, among the first n+1, in which no
// transaction ended as completed; ok is false where there is no such second.
func (e *evidence) firstCompleted(n int64) (second int64, ok bool) {
	for i, ended := range e.counts(metric.EndedTransactions, nil) {
		if int64(i) <= n && ended == 0 {
			second = int64(i) + 1
		}
	}
	return second, second < e.seconds
}

// withoutRecovery cuts the seconds in which the system was recovering out of the judged
// windows, each for as long as the profile allows, and returns what is left, with the window
// of each part: the parts of a window are judged together.
func withoutRecovery(windows, recovering []record.Span, limit time.Duration) (spans []record.Span, windowOf []int) {
	for i, w := range windows {
		parts := []record.Span{w}
		for _, cut := range recovering {
			cut.To = min(cut.To, cut.From+1+int64(math.Ceil(limit.Seconds())))
			var rest []record.Span
			for _, p := range parts {
				for _, part := range []record.Span{{From: p.From, To: min(p.To, cut.From)}, {From: max(p.From, cut.To), To: p.To}} {
					if part.Seconds() > 0 {
						rest = append(rest, part)
					}
				}
			}
			parts = rest
		}
		for _, p := range parts {
			spans, windowOf = append(spans, p), append(windowOf, i)
		}
	}
	return spans, windowOf
}
