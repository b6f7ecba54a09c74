package verdict

import (
	"cmp"
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
	// Recovered is the time from At until the first second in which, and in each of the
	// next four, the SLOs held (heldFrom). Least is without the generator's own delay.
	Recovered Between
	// Of the transactions that arrived from At until Recovered.
	Scheduled, NotCompleted int64
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
}

// settledSeconds is for how many seconds the SLOs must hold after a disturbance.
const settledSeconds = int64(spec.Settled / time.Second)

// minJudgedRest is the shortest rest of a judged window, before or after a recovery, that
// is judged: of a shorter one the counts say little (ours).
const minJudgedRest = 10

// loadEnd is the unix second in which the load ended.
func (e *evidence) loadEnd() int64 {
	end := e.Facts.T0.Add(e.plan.Duration()).Unix()
	if a := e.Facts.Aborted; a != nil {
		end = min(end, a.To)
	}
	return end
}

// disturbances are the faults that the run injected and ended, by time.
func (e *evidence) disturbances() (all []disturbance) {
	for i, f := range e.Plan.Profile.Faults {
		if i >= len(e.Facts.Faults) {
			break
		}
		fact := e.Facts.Faults[i]
		if fact.At.IsZero() || fact.Error != "" {
			continue
		}
		all = append(all, disturbance{number: i + 1, fault: f, at: fact.At})
		if !fact.Ended.IsZero() && fact.Ended.Unix() < e.loadEnd() {
			all = append(all, disturbance{number: i + 1, fault: f, end: true, at: fact.Ended})
		}
	}
	slices.SortStableFunc(all, func(a, b disturbance) int { return a.at.Compare(b.at) })
	return all
}

// recoveries judges each disturbance, and returns the seconds in which the system was
// recovering from it. Of a fault from which the system recovers only once it is ended, that
// end is a part of the recovery.
func (e *evidence) recoveries() (all []Recovery, recovering []record.Span) {
	for _, d := range e.disturbances() {
		r := Recovery{Number: d.number, Fault: d.fault.String(), End: d.end, At: d.at}
		from := d.at.Unix()
		if e.loadEnd() <= from {
			all = append(all, r)
			continue
		}
		o := e.over(record.Span{From: from, To: e.loadEnd()})
		most, recovered := o.heldFrom(func(v violations) []stats.Batch { return v.possible })
		least, _ := o.heldFrom(func(v violations) []stats.Batch { return v.cleared })
		if o.scheduled.found {
			since := func(second int64) float64 {
				return max(0, float64(time.Unix(from+second, 0).Sub(d.at))/float64(time.Millisecond))
			}
			r.Recovered.Least = pointer(since(least - 1))
			if recovered {
				r.Recovered.Most = pointer(since(most))
			}
			if first, answered := o.firstCompleted(most); e.has(metric.EndedTransactions, nil) {
				r.FirstSuccess.Least = pointer(since(first))
				if answered {
					r.FirstSuccess.Most = pointer(since(first + 1))
				}
			}
			u := e.over(record.Span{From: from, To: from + max(1, most)})
			r.Scheduled, r.NotCompleted = u.scheduled.n, u.notCompleted()
		}
		all = append(all, r)
		// A transaction that arrived just before was under way.
		recovering = append(recovering, record.Span{From: from - 1, To: from + most})
	}
	return all, recovering
}

// over is the evidence on other seconds than the judged ones.
func (e *evidence) over(spans ...record.Span) *evidence {
	o := *e
	o.restrict(spans)
	return &o
}

// withRecovery is the evidence on all judged windows, with the seconds in which the system
// was recovering.
func (e *evidence) withRecovery() *evidence {
	if len(e.recovered) == 0 {
		return e
	}
	return e.over(e.judged()...)
}

// recoveryText says what the system recovered from, and how fast; empty: nothing was
// injected.
func (e *evidence) recoveryText() string {
	var texts []string
	for _, r := range e.recovered {
		name := r.Fault
		if r.End {
			name = "the end of " + name
		}
		switch {
		case r.Recovered.Least == nil:
			texts = append(texts, name)
		case r.Recovered.Most == nil:
			texts = append(texts, fmt.Sprintf("%s: not recovered after %s s", name, number(*r.Recovered.Least/1000)))
		default:
			texts = append(texts, fmt.Sprintf("%s: recovered within %s s", name, number(*r.Recovered.Most/1000)))
		}
	}
	return joinFirst(texts, 4)
}

// heldFrom is the first second from which the SLOs hold: in it alone, with the next one,
// and so on up to settledSeconds, at most the share of samples violates that the SLO
// allows, and three standard deviations of chance. With fewer seconds left there is none,
// and n is the number of seconds.
func (e *evidence) heldFrom(counted func(violations) []stats.Batch) (n int64, ok bool) {
	all := e.sampledViolations()
	for n = 0; n+settledSeconds <= e.seconds; n++ {
		ok = true
		for _, v := range all {
			ok = ok && holdsFrom(counted(v.violations)[n:n+settledSeconds], v.share)
		}
		if ok {
			return n, true
		}
	}
	return e.seconds, false
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

// holdsFrom reports whether the first second, the first two, and so on hold. Seconds
// without a sample say nothing, but all of them together must have one.
func holdsFrom(seconds []stats.Batch, q float64) bool {
	total := stats.Batch{}
	for _, b := range seconds {
		total.N, total.K = total.N+b.N, total.K+b.K
		if total.K > q*total.N+3*math.Sqrt(total.N*q*(1-q)) {
			return false
		}
	}
	return total.N > 0
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
// windows, each for as long as the profile allows. A rest of under minJudgedRest seconds is
// not judged.
func withoutRecovery(windows, recovering []record.Span, limit time.Duration) []record.Span {
	for _, cut := range recovering {
		cut.To = min(cut.To, cut.From+1+int64(math.Ceil(limit.Seconds())))
		var rest []record.Span
		for _, w := range windows {
			before, after := record.Span{From: w.From, To: min(w.To, cut.From)}, record.Span{From: max(w.From, cut.To), To: w.To}
			if cut.To <= w.From || cut.From >= w.To {
				rest = append(rest, w)
				continue
			}
			for _, part := range []record.Span{before, after} {
				if part.Seconds() >= minJudgedRest {
					rest = append(rest, part)
				}
			}
		}
		windows = rest
	}
	return windows
}

// judgeRecovery decides by the longest recovery. It is known to a second: PASS needs the
// longest possible time, FAIL the shortest without the generator's own delay.
func judgeRecovery(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "ms")
	if len(e.recovered) == 0 {
		return out
	}
	n, broken, possible := int64(len(e.recovered)), int64(0), int64(0)
	unbounded := false
	for _, r := range e.recovered {
		if r.Recovered.Least == nil {
			return newSLO(s, "ms") // no data on one of them
		}
		if s.Violates(*r.Recovered.Least) {
			broken++
		}
		if r.Recovered.Most == nil || s.Violates(*r.Recovered.Most) {
			possible++
		}
		out.Lower = longer(out.Lower, r.Recovered.Least)
		out.Upper = longer(out.Upper, r.Recovered.Most)
		unbounded = unbounded || r.Recovered.Most == nil
	}
	out.Observed = out.Upper
	if unbounded { // it is at least what was seen of it
		out.Observed, out.ObservedAtLeast, out.Upper = out.Lower, out.Lower, nil
	}
	out.Samples, out.Allowed = &n, pointer(int64(0))
	if broken == possible {
		out.Violations = &broken
	} else {
		out.AtLeast, out.AtMost = &broken, &possible
	}
	out.Outcome = decideByCount(broken, possible, 0)
	return out
}

func longer(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// faultsRule is the id of faultsInjected, which applies to profiles with faults only.
const faultsRule = "faults"

// faultsInjected: the run did to the system what the profile says.
func faultsInjected(e *evidence) Rule {
	planned := e.Plan.Profile.Faults
	r := Rule{
		Observed: pointer(0.0), Limit: pointer(float64(len(planned))), Unit: "faults",
		Outcome: Pass,
		Advice:  "Check the node or the command of the fault by hand, then run again.",
	}
	var problems []string
	for i, f := range planned {
		var fact record.Fault
		if i < len(e.Facts.Faults) {
			fact = e.Facts.Faults[i]
		}
		switch {
		case fact.Error != "" || fact.At.IsZero():
			problems = append(problems, fmt.Sprintf("fault %d (%s) was not injected: %s", i+1, f, cmp.Or(fact.Error, "no reason given")))
			continue
		case fact.EndError != "":
			problems = append(problems, fmt.Sprintf("fault %d (%s) could not be ended: %s", i+1, f, fact.EndError))
			continue
		}
		*r.Observed++
	}
	r.Detail = fmt.Sprintf("%d of %d faults were injected and ended", int(*r.Observed), len(planned))
	if len(problems) > 0 {
		r.Outcome, r.Detail = Invalid, joinFirst(problems, 3)
	}
	return r
}
