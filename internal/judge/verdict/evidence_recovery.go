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
	// Doubtful: violations after the system recovered are perhaps a relapse.
	Doubtful bool
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

// Seconds for which the SLOs must hold after a fault, and after a change in load; and those in any
// of which they must hold from then on.
const (
	keptSeconds    = int64(spec.Kept / time.Second)
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
		samples, events := sampledViolations(o), eventsAfter(e, d, end)
		most := courseOf(d, events, countAll(samples, func(v violations) []stats.Batch { return v.possible }), counted.keptInMinutes)
		least := courseOf(d, events, countAll(samples, func(v violations) []stats.Batch { return v.cleared }), counted.keptInRest)
		r.Doubtful = least.ok && !most.ok
		since := func(second int64) float64 {
			return max(0, float64(time.Unix(from+second, 0).Sub(r.At))/float64(time.Millisecond))
		}
		// The end of a fault may show only later: that is when the recovery begins.
		later := r.End && r.Metric == metric.RecoveryTime
		if later {
			r.RecoveryMs.Least = new(1000 * float64(max(0, least.kept-least.broken-1)))
		} else {
			r.RecoveryMs.Least = new(since(least.kept - 1))
		}
		switch {
		case !most.ok:
		case later:
			r.RecoveryMs.Most = new(1000 * float64(most.kept-most.broken))
		default:
			r.RecoveryMs.Most = new(since(most.kept))
		}
		if success, answered := firstCompleted(o, most.kept); e.has(metric.EndedTransactions, nil) {
			r.FirstSuccessMs.Least = new(since(success))
			if answered {
				r.FirstSuccessMs.Most = new(since(success + 1))
			}
		}
		u := e.over(record.Span{From: from, To: from + max(1, most.kept)})
		r.Scheduled, r.NotCompleted = new(u.scheduled.n), new(u.notCompleted())
		all = append(all, r)
		// What breaks again after the system had settled is judged by the other SLOs too.
		switch {
		case most.settled == 0:
		case r.Metric == metric.RecoveryTime: // a transaction that arrived just before was under way
			cuts = append(cuts, recovering{record.Span{From: from + most.broken - 1, To: from + most.settled}, r.Metric})
		default:
			cuts = append(cuts, recovering{record.Span{From: from, To: from + most.settled}, r.Metric})
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
	case r.Doubtful:
		return name + ": " + over + ", unless later violations are a relapse"
	case r.RecoveryMs.Most == nil:
		return fmt.Sprintf("%s: not %s after %s s", name, over, number(*r.RecoveryMs.Least/1000))
	}
	return fmt.Sprintf("%s: %s within %s s", name, over, number(*r.RecoveryMs.Most/1000))
}

// course is how a recovery went, in seconds since the disturbance.
type course struct {
	broken  int64 // the first second in which the disturbance broke an SLO; 0: none did
	settled int64 // from here on the SLOs held for long enough to have recovered
	kept    int64 // and from here on they held until the next event
	ok      bool  // they did; else settled and kept may be the last second
}

// keeping finds from when on, at or after a second, the samples show no relapse until the end.
type keeping func(of counted, from, end int64) int64

// courseOf finds how the system recovered from a disturbance before the next of the events that
// follow it. A system that has not recovered before an event goes on to recover after it.
func courseOf(d disturbance, events []int64, all []counted, keeps keeping) (c course) {
	for _, event := range events {
		if d.begin+d.held <= event {
			if c = courseUntil(event, d, all, keeps); c.ok {
				return c
			}
		}
	}
	return c
}

// courseUntil is courseOf for a single event. A second is broken unless in it alone, with the
// next one, and so on for as long as the SLOs must hold, at most the share of samples violates
// that each SLO allows, and three standard deviations of chance. A disturbance shows up to its
// begin. The system has settled with the first second that is not broken after that, and relapses
// after that unless it keeps its SLOs until the event. What arrives in the last second before the
// event may be under way when it comes.
func courseUntil(event int64, d disturbance, all []counted, keeps keeping) (c course) {
	held := func(at int64) int64 { // d.held if the second is not broken
		least := d.held
		for _, of := range all {
			least = min(least, of.holdTogether(at, d.held))
		}
		return least
	}
	end, last := event-1, event-d.held
	kept := func(at int64) int64 {
		from := at
		for _, of := range all {
			if of.share > 0 { // a single violation of a maximum, which allows none, is no relapse
				from = max(from, keeps(of, at, end))
			}
		}
		return from
	}
	next := func(at int64, holds func(int64) bool) int64 {
		for at <= last && !(held(at) == d.held && holds(at)) {
			at++
		}
		return at
	}
	from := int64(0)
	for at := int64(0); at <= min(d.begin, last); at++ {
		if seconds := held(at); seconds < d.held {
			if from == 0 {
				c.broken = at + seconds
			}
			from = at + 1
		}
	}
	c.settled = max(c.broken, next(from, func(int64) bool { return true }))
	c.kept = next(kept(c.settled), func(at int64) bool { return kept(at) == at })
	if c.ok = c.kept <= last; !c.ok {
		c.kept = event
	}
	if c.settled > last {
		c.settled = event
	}
	return c
}

// eventsAfter are how many seconds after a disturbance the next ones come, or the load rises; the
// last one is its end.
func eventsAfter(e *evidence, d disturbance, end int64) (events []int64) {
	for _, other := range disturbances(e) {
		events = append(events, other.At.Unix())
	}
	for i := range e.plan.Stages {
		events = append(events, e.Facts.T0.Add(nextRise(e.plan, i)).Unix())
	}
	events = slices.DeleteFunc(events, func(at int64) bool { return at <= d.At.Unix() || at >= end })
	slices.Sort(events)
	events = append(slices.Compact(events), end)
	for i := range events {
		events[i] -= d.At.Unix()
	}
	return events
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

// counted are the samples and the violations of an SLO before each second, from the first on.
type counted struct {
	samples, violations []float64
	share               float64 // of the samples that may violate
}

func countAll(all []sampled, of func(violations) []stats.Batch) (sums []counted) {
	for _, s := range all {
		c := counted{[]float64{0}, []float64{0}, s.share}
		for i, b := range of(s.violations) {
			c.samples, c.violations = append(c.samples, c.samples[i]+b.N), append(c.violations, c.violations[i]+b.K)
		}
		sums = append(sums, c)
	}
	return sums
}

// hold reports whether at most the allowed share of the samples of some seconds violates, and so
// many standard deviations of chance. Seconds without a sample say nothing.
func (c counted) hold(from, to int64, deviations float64) bool {
	n, k := c.samples[to]-c.samples[from], c.violations[to]-c.violations[from]
	return k <= c.share*n+deviations*math.Sqrt(n*c.share*(1-c.share))
}

// keptInMinutes is a keeping: that the samples hold in each minute, and in all of a shorter time, as
// a PASS needs.
func (c counted) keptInMinutes(from, end int64) int64 {
	chance := math.Sqrt(9 + 2*math.Log(float64(max(1, end-keptSeconds)))) // of so many minutes
	for at := max(from, end-keptSeconds); at >= from; at-- {
		if !c.hold(at, min(at+keptSeconds, end), chance) {
			return at + 1
		}
	}
	return from
}

// keptInRest is a keeping: that all of the rest is not counted as broken, as a judged window would be.
// Otherwise it is a FAIL. Minutes do not show that: where latency is correlated, as in a queue, a
// system that keeps its SLO over ten minutes does not keep it in each of them.
func (c counted) keptInRest(from, end int64) int64 {
	for ; from < end; from++ {
		n, k := c.samples[end]-c.samples[from], c.violations[end]-c.violations[from]
		if stats.Count(c.share, int64(n), int64(k)) != stats.Broken {
			break
		}
	}
	return from
}

// holdTogether is how many of the seconds from one on hold: that one alone, with the next one,
// and so on.
func (c counted) holdTogether(from, seconds int64) int64 {
	for i := range seconds {
		if !c.hold(from, from+i+1, 3) {
			return i
		}
	}
	return seconds
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
