// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Recovery is how the system got over one disturbance: a fault that the run injected, the
// end of that fault, the end of an overload, or a step up in load.
type Recovery struct {
	// Fault is the recovery as the certificate shows a recovery from a fault. For a stage of
	// the load its Fault is empty, and its Number is the number of the stage, from 1. For the
	// end of a fault RecoveryMs is counted from the first second that was broken after it
	// (recoveredFrom); its Least is without the generator's own delay.
	certificate.Fault
	Metric string  // metric that judges the recovery: recovery_time, settle_time or time_to_scale
	Rate   float64 // rate of the stage, per second; 0: the disturbance is a fault
	// Until is when the load ended, or Rose again: what comes after it is no part of the
	// recovery.
	Until time.Time
	Rose  bool
}

// unseen reports that the load ended, or rose again, too early to show anything of the
// disturbance.
func (r Recovery) unseen() bool { return r.RecoveryMs.Least == nil }

// unseenText says why nothing is known of an effect: the load went on for too short a time.
func (r Recovery) unseenText(of string) string {
	if r.Rose {
		return "the load rose again too early to show " + of
	}
	return "the load ended too early to show " + of
}

// immediate reports that the SLOs held from the disturbance on.
func (r Recovery) immediate() bool { return r.RecoveryMs.Most != nil && *r.RecoveryMs.Most == 0 }

// Name is the disturbance, like "the end of kill b" or "the step to 800/s".
func (r Recovery) Name() string {
	name := r.Fault.Fault
	switch {
	case r.Metric == metric.SettleTime:
		name = "the overload of " + number(r.Rate) + "/s"
	case r.Metric == metric.TimeToScale:
		name = "the step to " + number(r.Rate) + "/s"
	}
	if r.End {
		return "the end of " + name
	}
	return name
}

// disturbance is a moment from which the system has to recover.
type disturbance struct {
	Recovery
	fault spec.Fault
	// begin is how many seconds after at it has begun for certain: what was done to inject a
	// fault takes a while, and up to spec.Settled to have an effect.
	begin int64
	held  int64 // for how many seconds the SLOs must hold to have recovered
}

// Seconds for which the SLOs must hold after a fault, and after a change in load.
const (
	settledSeconds = int64(spec.Settled / time.Second)
	heldSeconds    = int64(spec.Held / time.Second)
)

// disturbances are the faults that the run injected and ended, the ends of overloads, and
// the steps up in load, by time.
func disturbances(e *evidence) (all []disturbance) {
	begin := func(at, done time.Time) int64 { return max(0, done.Unix()-at.Unix()) + settledSeconds }
	for i, f := range e.Plan.Profile.Faults {
		if i >= len(e.Facts.Faults) {
			break
		}
		fact := e.Facts.Faults[i]
		if fact.At.IsZero() || fact.Error != "" {
			continue
		}
		r := Recovery{Metric: metric.RecoveryTime, Fault: certificate.Fault{Flow: e.flow(), Number: i + 1, Fault: f.String(), At: fact.At}}
		all = append(all, disturbance{Recovery: r, fault: f, begin: begin(fact.At, fact.Done), held: settledSeconds})
		if !fact.Ended.IsZero() && fact.Ended.Unix() < loadEnd(e) {
			r.End, r.At = true, fact.Ended
			all = append(all, disturbance{Recovery: r, fault: f, begin: begin(fact.Ended, fact.EndDone), held: settledSeconds})
		}
	}
	all = append(all, loadChanges(e)...)
	slices.SortStableFunc(all, func(a, b disturbance) int { return a.At.Compare(b.At) })
	return all
}

// recovering is the time in which the system was recovering from a disturbance, which an
// SLO judges up to its limit.
type recovering struct {
	record.Span
	metric string
}

// recoveries judges each disturbance, and returns the seconds in which the system was
// recovering from it. Where the system recovers from a fault only once the fault is ended,
// the end is a part of the recovery. There is no data on a disturbance that took effect too late
// for the load to show it. A recovery from a change in load is over when the load rises again:
// what the system does from then on is due to that.
func recoveries(e *evidence) (all []Recovery, cuts []recovering) {
	for _, d := range disturbances(e) {
		r := d.Recovery
		from, end := r.At.Unix(), loadEnd(e)
		if r.Rose && r.Until.Unix() <= end {
			end = r.Until.Unix()
		} else {
			r.Rose = false
		}
		r.Until = time.Unix(end, 0).UTC()
		o := e.over(record.Span{From: from, To: end})
		if d.begin+d.held > o.seconds || !o.scheduled.found {
			all = append(all, r)
			continue
		}
		samples := sampledViolations(o)
		first, most, recovered := recoveredFrom(o, samples, d, func(v violations) []stats.Batch { return v.possible })
		leastFirst, least, _ := recoveredFrom(o, samples, d, func(v violations) []stats.Batch { return v.cleared })
		since := func(second int64) float64 {
			return max(0, float64(time.Unix(from+second, 0).Sub(r.At))/float64(time.Millisecond))
		}
		// The end of a fault may show only later: that is when the recovery begins.
		later := r.End && r.Metric == metric.RecoveryTime
		if later {
			r.RecoveryMs.Least = new(1000 * float64(max(0, least-leastFirst-1)))
		} else {
			r.RecoveryMs.Least = new(since(least - 1))
		}
		switch {
		case !recovered:
		case later:
			r.RecoveryMs.Most = new(1000 * float64(most-first))
		default:
			r.RecoveryMs.Most = new(since(most))
		}
		if success, answered := firstCompleted(o, most); e.has(metric.EndedTransactions, nil) {
			r.FirstSuccessMs.Least = new(since(success))
			if answered {
				r.FirstSuccessMs.Most = new(since(success + 1))
			}
		}
		u := e.over(record.Span{From: from, To: from + max(1, most)})
		r.Scheduled, r.NotCompleted = new(u.scheduled.n), new(u.notCompleted())
		all = append(all, r)
		switch {
		case most == 0:
		case r.Metric == metric.RecoveryTime: // a transaction that arrived just before was under way
			cuts = append(cuts, recovering{record.Span{From: from + first - 1, To: from + most}, r.Metric})
		default:
			cuts = append(cuts, recovering{record.Span{From: from, To: from + most}, r.Metric})
		}
	}
	return all, cuts
}

// over is the evidence on other seconds than the judged ones.
func (e *evidence) over(spans ...record.Span) *evidence {
	o := *e
	o.restrict(spans, nil)
	return &o
}

// text is a recovery in words.
func (r Recovery) text() string {
	name, over := r.Name(), "recovered"
	if r.Metric == metric.SettleTime {
		over = "settled"
	} else if r.Metric == metric.TimeToScale {
		over = "scaled"
	}
	switch {
	case r.unseen():
		return name + ": " + r.unseenText("its effect")
	case r.RecoveryMs.Most == nil:
		return fmt.Sprintf("%s: not %s after %s s", name, over, number(*r.RecoveryMs.Least/1000))
	}
	return fmt.Sprintf("%s: %s within %s s", name, over, number(*r.RecoveryMs.Most/1000))
}

// recoveredFrom finds the first second that is broken, of those up to the disturbance's
// begin, and the first one after the last of these that is not: from which the SLOs hold. A
// second is broken unless in it alone, with the next one, and so on for as long as the SLOs
// must hold, at most the share of samples violates that each SLO allows, and three standard
// deviations of chance. Without a broken second both are 0; ok is false if the SLOs do not
// hold again, and n is then the number of seconds.
func recoveredFrom(e *evidence, all []sampled, d disturbance, counted func(violations) []stats.Batch) (first, n int64, ok bool) {
	// held is how many seconds from one on hold together, d.held if it is not broken.
	held := func(at int64) int64 {
		least := d.held
		for _, v := range all {
			least = min(least, holdTogether(counted(v.violations)[at:at+d.held], v.share))
		}
		return least
	}
	last := e.seconds - d.held
	first = -1
	for at := int64(0); at <= min(d.begin, last); at++ {
		seconds := held(at)
		if seconds == d.held {
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
		if held(n) == d.held {
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
func sampledViolations(e *evidence) (all []sampled) {
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if s.Kind() == spec.KindSamples && e.diluted(s) {
			all = append(all, sampled{violationsOf(e.workersAlone(), s), s.AllowedShare()})
		}
		if s.Kind() == spec.KindSamples {
			all = append(all, sampled{violationsOf(e, s), s.AllowedShare()})
		}
	}
	return append(all, sampled{throughputViolations(e), 1 - minThroughput})
}

// holdTogether is how many seconds hold: the first one alone, the first two together, and
// so on. Seconds without a sample say nothing.
func holdTogether(seconds []stats.Batch, q float64) int64 {
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
func firstCompleted(e *evidence, n int64) (second int64, ok bool) {
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
func withoutRecovery(e *evidence, windows []record.Span, cuts []recovering) (spans []record.Span, windowOf []int) {
	for i, w := range windows {
		parts := []record.Span{w}
		for _, cut := range cuts {
			limit, ok := e.Plan.Profile.Limit(cut.metric)
			if !ok {
				continue
			}
			seconds := int64(math.Ceil(limit.Seconds()))
			if cut.metric == metric.RecoveryTime {
				seconds++ // the one before the fault
			}
			to := min(cut.To, cut.From+seconds)
			var rest []record.Span
			for _, p := range parts {
				for _, part := range []record.Span{{From: p.From, To: min(p.To, cut.From)}, {From: max(p.From, to), To: p.To}} {
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

// loadChanges are the ends of overloads and the steps up in load that an SLO judges.
func loadChanges(e *evidence) (all []disturbance) {
	for _, c := range changesIn(e.plan, e.Plan.Profile) {
		r := Recovery{
			Fault:  certificate.Fault{Flow: e.flow(), Number: c.stage + 1, End: c.metric == metric.SettleTime, At: e.Facts.T0.Add(c.at)},
			Metric: c.metric, Rate: c.rate, Until: e.Facts.T0.Add(c.until), Rose: c.until < e.plan.Duration(),
		}
		all = append(all, disturbance{Recovery: r, held: heldSeconds})
	}
	return all
}
