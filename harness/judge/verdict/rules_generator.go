package verdict

import (
	"fmt"
	"slices"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// roomAdvice is what to do about a generator that does not keep up.
const roomAdvice = "Give the generator more CPUs or more workers, and let nothing else run beside it."

// generatorDrops: arrivals that the generator lost while it stood still. What
// fails without them fails.
func generatorDrops(e *evidence) Rule {
	dropped := e.tally(metric.GeneratorDropped, nil).withCompanion(e.scheduled)
	r := Rule{
		Observed: ratio(dropped, e.scheduled), Limit: e.limits.GeneratorDrops, Unit: "share",
		Outcome: Invalid,
		Detail:  "no worker reported its schedule",
		Advice:  roomAdvice,
	}
	if r.Observed != nil {
		r.Detail = fmt.Sprintf("the generator lost %d of %d arrivals", dropped.n, e.scheduled.n)
		e.holdOrFail(&r)
	}
	return r
}

// offered: slots that the generator itself started late. Load that comes later
// than planned comes in a burst, which is not the load that was asked for; what
// fails in the seconds without such a burst fails.
func offered(e *evidence) Rule {
	displaced := e.displacedSlots()
	r := Rule{
		Observed: ratio(displaced, e.scheduled), Limit: e.limits.Offered, Unit: "share",
		Outcome: Invalid,
		Detail:  "no worker measured its lag",
		Advice:  roomAdvice,
	}
	if r.Observed != nil {
		r.Detail = fmt.Sprintf("the generator itself started %d of %d transactions more than %s late", displaced.n, e.scheduled.n, e.plan.DisplacedAfter)
		e.holdOrFail(&r)
	}
	return r
}

// holdOrFail is the outcome of a limit on the generator: what is over it makes a
// run INVALID, unless the system failed without it.
func (e *evidence) holdOrFail(r *Rule) {
	r.Outcome = holds(*r.Observed <= *r.Limit)
	if r.Outcome == Invalid && e.failed() {
		r.Outcome, r.Limitation = Pass, r.Detail+"; what failed did so without them"
	}
}

// displacedSlots counts the slots that the generator itself started later than the
// plan allows.
func (e *evidence) displacedSlots() tally {
	displaced := e.tally(metric.GeneratorDisplaced, nil)
	if !displaced.found && e.lag.Count() > 0 {
		// No counter: what the histogram cannot rule out counts.
		_, most := e.lag.AtLeast(float64(e.plan.DisplacedAfter.Nanoseconds()) / 1e6)
		displaced = tally{n: int64(most), found: true}
	}
	return displaced
}

// displaced tells whether more load was displaced than the rule offered allows.
func (e *evidence) displaced() bool {
	share := ratio(e.displacedSlots(), e.scheduled)
	return share != nil && *share > *e.limits.Offered
}

// fewDisplaced is the share of a second's arrivals up to which displaced ones are a
// burst that is over within the second (ours).
const fewDisplaced = 0.1

// undisturbed are violations less those that displaced load may have made, where
// more was displaced than the rule offered allows. A few displaced slots may have
// made themselves violate, and as many others. More are a burst that has to be
// worked off: their second does not count, nor do as many seconds after them.
func (e *evidence) undisturbed(counted []stats.Batch) []stats.Batch {
	if !e.displaced() {
		return counted
	}
	rest := slices.Clone(counted)
	limit := float64(e.plan.DisplacedAfter) / float64(time.Millisecond)
	lag := e.distribution(metric.GeneratorLag, nil)
	lag.count(limit)
	after, window := 0, 0
	for i, b := range lag.counted[limit].most {
		if b.Stratum != window {
			after, window = 0, b.Stratum
		}
		switch {
		case b.K > fewDisplaced*b.N:
			rest[i] = stats.Batch{Stratum: rest[i].Stratum}
			after++
		case after > 0:
			rest[i] = stats.Batch{Stratum: rest[i].Stratum}
			after--
		default:
			rest[i].K = max(0, rest[i].K-2*b.K)
		}
	}
	return rest
}

// generatorLag: the generator's own share of the latencies could have changed the
// verdict (RULEBOOK section 1a). Where it could not, its figures are shown.
func generatorLag(e *evidence) Rule {
	r := Rule{Unit: "ms", Outcome: Invalid, Detail: "no worker measured its lag", Advice: roomAdvice}
	p99, ok := e.lag.Quantile(0.99)
	if !ok {
		return r
	}
	stood, _ := e.sum(metric.GeneratorStall, nil)
	r.Observed, r.Outcome = &p99, Pass
	r.Detail = fmt.Sprintf("the generator started transactions up to %s ms late at p99, and stood still for %s of the time",
		number(p99), percent(stood/1000/float64(max(1, e.seconds*int64(max(1, len(e.plan.Workers)))))))
	var hidden, shared []string
	for _, s := range e.slos {
		if s.Hidden {
			hidden = append(hidden, s.share())
		} else if s.Cleared != nil && s.measured() > *s.Cleared {
			shared = append(shared, s.share())
		}
	}
	switch {
	case len(hidden) > 0 && !e.failed():
		r.Outcome = Invalid
		r.Detail = "the generator's own share decides: " + some(hidden, 2)
	case len(hidden)+len(shared) > 0:
		r.Limitation = r.Detail + ": " + some(append(hidden, shared...), 2)
	}
	return r
}

// measured is the number of violations as measured that are possible.
func (s SLO) measured() int64 {
	switch {
	case s.Violations != nil:
		return *s.Violations
	case s.AtMost != nil:
		return *s.AtMost
	}
	return 0
}

// share is what the generator has to do with an SLO's violations.
func (s SLO) share() string {
	return fmt.Sprintf("%s %s has %d violations as measured, %d without the generator's share, %d allowed",
		s.Metric, s.Expression, s.measured(), *s.Cleared, *s.Allowed)
}

// generatorCPU: the busiest worker's share of the CPUs it may use, with the
// time in which it was ready to run but others had them: a worker that shares
// its CPUs is starved long before its own use of them shows it. A mean over
// workers would hide one that is starved. What that did to the latencies is
// counted elsewhere: it makes no run INVALID by itself.
func generatorCPU(e *evidence) Rule {
	r := Rule{
		Limit: e.limits.GeneratorCPU, Unit: "share",
		Outcome: Pass,
		Advice:  fmt.Sprintf("Add workers or CPUs until every worker needs at most %s of its CPUs, and let nothing else run on them.", percent(spec.RecommendedCPU)),
	}
	worst, source, missing := busiest(e)
	switch {
	case missing != "":
		r.Detail = missing + " did not report the CPU it used"
		r.Limitation = r.Detail
	case worst == nil:
		r.Detail = "the plan has no worker"
	default:
		r.Observed = worst
		r.Detail = fmt.Sprintf("%s needed %s of its CPUs, the wait for them included", source, percent(*worst))
		if *worst > *r.Limit {
			r.Limitation = fmt.Sprintf("%s; at most %s is recommended", r.Detail, percent(spec.RecommendedCPU))
		}
	}
	return r
}

// busiest is the largest CPU share of a worker over the judged windows; or the
// name of a worker that reported none.
func busiest(e *evidence) (worst *float64, source, missing string) {
	for _, w := range e.workers() {
		used, cpus, n, found := 0.0, 0.0, 0, false
		for _, span := range e.spans {
			v, ok := e.Timeline.SumOf(w, metric.WorkerCPU, nil, span)
			waited, _ := e.Timeline.SumOf(w, metric.WorkerRunQueue, nil, span) // not every kernel tells
			used, found = used+v+waited, found || ok
			values, has := e.Timeline.Gauge(metric.WorkerCPUs, nil, w, span)
			for i := range values {
				if has[i] {
					cpus += values[i]
					n++
				}
			}
		}
		if !found || cpus <= 0 || e.seconds == 0 {
			return nil, "", w
		}
		if s := used / (float64(e.seconds) * cpus / float64(n)); worst == nil || s > *worst {
			worst, source = &s, w
		}
	}
	return worst, source, ""
}
